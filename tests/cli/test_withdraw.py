"""`bais withdraw` and `bais restore`: single trials out of the public tables, and back."""

import contextlib
import shutil

import duckdb
import pytest

from bais.main import main
from ingest.land.models import Models
from tests.tools.contracts import make_tables

pytestmark = pytest.mark.slow("collects and audits again and again")

STUDY = """
study: small
llms: [sim/anchored]
vignettes: [burglary]
techniques: [no_technique]
anchors: {proportional: {low: 0.5, high: 1.5}}
stopping_rule: {minimum: 4}
"""
ROWS = """
insert into intermediate.int_trials_read by name
    select
        trial_id, 'sim/anchored' as llm, 'judicial' as domain,
        'answered' as status_if_reparsed, 24::double as number_if_reparsed, 'anchoring' as paradigm, arm, item, role,
        judged
    from raw.trials;
insert into marts.trials by name
    select trial_id, batch_id, study, vignette, technique, anchor_direction, arm, temperature, response_recorded
    from raw.trials
    anti join (from raw.gate_acts where act = 'withdraw') as acts on trial_id = object_id
    where anchor_direction != 'high';
insert into marts.quarantined_trials by name
    select
        trial_id, batch_id, study, vignette, technique, anchor_direction, arm, temperature, response_recorded,
        'other_prompt' as flag_reasons
    from raw.trials
    anti join marts.trials using (trial_id)
    anti join (from raw.gate_acts where act = 'withdraw') as acts on trial_id = object_id
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """A folder with a warehouse of twelve collected trials, four of them kept out of the public tables."""
    folder = tmp_path_factory.mktemp("collected")
    (folder / "study.yaml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(folder / "data" / "warehouse.duckdb"))
        assert main(["collect", str(folder / "study.yaml")]) == 0
    make_marts(folder / "data" / "warehouse.duckdb")
    return folder


def make_marts(path):
    with contextlib.closing(duckdb.connect(str(path))) as warehouse:
        warehouse.execute("drop schema if exists marts cascade; drop schema if exists intermediate cascade")
        make_tables(warehouse, "intermediate.int_trials_read", "marts.trials", "marts.quarantined_trials")
        warehouse.execute(ROWS)


@pytest.fixture
def warehouse(collected, tmp_path, monkeypatch, capsys):
    """The path of a copy of it, with its spool and its study beside it."""
    shutil.copytree(collected, tmp_path / "copy")
    path = tmp_path / "copy" / "data" / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    monkeypatch.setenv("BAIS_USER", "ada")
    capsys.readouterr()
    return path


@pytest.fixture
def query(warehouse):
    def ask(sql):
        with contextlib.closing(duckdb.connect(str(warehouse), read_only=True)) as connection:
            return connection.sql(sql).fetchall()

    return ask


@pytest.fixture
def counted(warehouse):
    """Derive what the marts are made of, and return it."""

    def derive():
        with contextlib.closing(duckdb.connect()) as memory:
            memory.execute(f"attach '{warehouse}' as warehouse (read_only)")
            models = Models(memory, {"raw": "warehouse.raw"}, {"response_source": "recorded"})
            return memory.sql(f"from {models.ref('int_trials_identified')} order by trial_id").fetchall()

    return derive


def test_a_trial_leaves_what_is_counted_and_comes_back_as_it_was(warehouse, query, counted, capsys, golden):
    before = counted()
    (gone, *_), *_ = before
    assert main(["withdraw", gone[:12], "--why", "the endpoint was cut off", "--who", "grace"]) == 0
    golden(capsys.readouterr().out, "1 trial of small")
    assert counted() == before[1:]
    assert query("select count(*) from raw.trials") == [(12,)]
    assert main(["restore", gone, "--why", "it was not"]) == 0
    assert counted() == before
    acts = query("select object, object_id, act, who, why from raw.gate_acts order by acted_at")
    assert acts == [
        ("trial", gone, "withdraw", "grace", "the endpoint was cut off"),
        ("trial", gone, "restore", "ada", "it was not"),
    ]


def test_a_condition_is_asked_once_of_public_and_quarantined_trials_and_the_trials_found_are_kept(
    warehouse, query, capsys, golden
):
    asked = ["withdraw", "--where", "anchor_direction in ('low', 'high')", "--why", "asked twice"]
    assert main(asked) == 0
    golden(capsys.readouterr().out, "8 trials")
    assert query("select count(distinct object_id), count(distinct acted_at) from raw.gate_acts") == [(8, 1)]
    assert main(asked) == 2
    golden(capsys.readouterr().err, "8 trials")
    low = [trial_id for (trial_id,) in query("select trial_id from raw.trials where anchor_direction = 'low'")]
    assert main(["restore", low[0], low[1], "--why", "asked once"]) == 0
    assert main(asked) == 0
    golden(capsys.readouterr().out, "2 trials", "6 were")
    make_marts(warehouse)
    assert main(["restore", "--where", "anchor_direction = 'low'", "--why", "asked once"]) == 0
    golden(capsys.readouterr().out, "4 trials")


@pytest.mark.parametrize("condition", ["paradigm = 'anchoring'", "response = 24 and status = 'answered'"])
def test_what_a_trial_says_finds_it_again_once_it_is_withdrawn(warehouse, capsys, condition, golden):
    assert main(["withdraw", "--where", "true", "--why", "all of it"]) == 0
    make_marts(warehouse)
    capsys.readouterr()
    assert main(["restore", "--where", condition, "--why", "it was right"]) == 0
    golden(capsys.readouterr().out, "12 trials")


def test_a_condition_finds_trials_that_are_not_published_too(warehouse, capsys, golden):
    with contextlib.closing(duckdb.connect(str(warehouse))) as unpublished:
        unpublished.execute("delete from marts.trials; delete from marts.quarantined_trials")
    capsys.readouterr()
    assert main(["withdraw", "--where", "anchor_direction = 'low'", "--why", "its batch failed"]) == 0
    golden(capsys.readouterr().out, "4 trials")


def test_a_withdrawn_trial_is_not_asked_again(warehouse, query, capsys, golden):
    study = str(warehouse.parents[1] / "study.yaml")
    assert main(["withdraw", "--where", "true", "--why", "all of it"]) == 0
    capsys.readouterr()
    assert main(["collect", study]) == 0
    golden(capsys.readouterr().out, "12 trials", "12 collected", "0 now")
    assert query("select count(*) from raw.trials") == [(12,)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["withdraw", "zz", "--why", "x"], "there is no trial zz: `bais trials` lists them"),
        (["withdraw", "--where", "response_recorded > 1e9", "--why", "x"], "no trial meets the condition"),
        (["withdraw", "--where", "nosuch = 1", "--why", "x"], "the condition is not understood"),
        (["withdraw", "--where", "true", "--why", " "], "say why"),
        (["restore", "--where", "true", "--why", "x"], "no trial meets the condition: nothing is restored"),
        (["restore", "{trial}", "--why", "x"], "the trial is neither withdrawn nor reread: nothing was done"),
        (["withdraw", "--where", "exists (from read_text('{study}'))", "--why", "x"], "the condition "),
        (["withdraw", "--where", "true; drop table raw.trials", "--why", "x"], "the condition "),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_done(warehouse, query, capsys, arguments, sentence):
    ((trial,),) = query("select min(trial_id) from raw.trials")
    study = str(warehouse.parents[1] / "study.yaml")
    assert main([argument.format(trial=trial, study=study) for argument in arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"bais: {sentence}")
    assert said.count("\n") == 1
    assert query("from raw.gate_acts") == []


@pytest.mark.parametrize("arguments", [["withdraw", "--why", "x"], ["withdraw", "a", "--where", "true", "--why", "x"]])
def test_trials_are_named_or_described(warehouse, capsys, arguments, golden):
    assert main(arguments) == 2
    golden(capsys.readouterr().err, "--where")


@pytest.mark.slow("audits again and again")
def test_what_a_failed_audit_flags_is_withdrawn_by_its_reason_and_the_next_check_audits_what_is_left(
    warehouse, query, capsys, golden
):
    wrong = "select trial_id from raw.trials order by trial_id limit 3"
    with contextlib.closing(duckdb.connect(str(warehouse))) as faulty:
        faulty.execute(f"update raw.trials set temperature = 7 where trial_id in ({wrong})")
        faulty.execute("drop schema marts cascade")
    (batch_id,) = query("select batch_id from raw.batches")[0]
    assert main(["check", "--batch", batch_id]) == 6
    assert main(["check"]) == 6
    golden(capsys.readouterr().out, "`bais withdraw --flag temperature_out_of_range --why TEXT`")
    assert main(["withdraw", "--flag", "temperature_out_of_rang", "--why", "mistyped"]) == 2
    golden(capsys.readouterr().err, "temperature_out_of_rang")
    assert main(["withdraw", "--flag", "temperature_out_of_range", "--why", "mistyped"]) == 0
    assert sorted(query("select object_id from raw.gate_acts")) == sorted(query(wrong))
    n_audits = query("select count(*) from raw.batch_verdicts")
    main(["check"])
    assert query("select count(*) from raw.batch_verdicts") == [(n_audits[0][0] + 1,)]
    assert "temperature_out_of_range" not in capsys.readouterr().out
    main(["check"])
    assert query("select count(*) from raw.batch_verdicts") == [(n_audits[0][0] + 1,)]


def test_a_batch_is_named_by_a_part_of_its_id_that_no_other_has(warehouse, query, capsys):
    ((batch_id,),) = query("select batch_id from raw.batches")
    assert main(["check", "--batch", batch_id[3:12]]) in (0, 6)
    assert batch_id in capsys.readouterr().out
    assert main(["accept", batch_id[3:12], "--why", "read by hand"]) == 0
    assert query("select object_id from raw.gate_acts") == [(batch_id,)]
    with contextlib.closing(duckdb.connect(str(warehouse))) as doubled:
        doubled.execute(
            "insert into raw.batches by name select * replace (batch_id || '2' as batch_id) from raw.batches"
        )
        doubled.execute(
            "insert into raw.trials by name select * replace "
            "(batch_id || '2' as batch_id, trial_id || '2' as trial_id) from raw.trials limit 1"
        )
    capsys.readouterr()
    assert main(["check", "--batch", batch_id[3:12]]) == 2
    assert "2 batches have" in capsys.readouterr().err
