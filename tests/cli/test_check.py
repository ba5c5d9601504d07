"""`bais check`, `accept`, `reject` and `release`: what the gate says, and what people decide."""

import json
import shutil

import duckdb
import pytest

from bais.check import _in_full, words_of_checks
from bais.main import main
from ingest.gate.suite import read_config
from tests.ingest.faults import damage
from tests.tools.contracts import fill
from tests.tools.stand_ins import SAID_OF_UNREAD, leave_unread

STUDY = """
study: small
llms: [sim/anchored]
vignettes: [burglary]
techniques: [no_technique]
anchors: {proportional: {low: 0.5, high: 1.5}}
stopping_rule: {minimum: 20}
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """The path of a warehouse with one collected batch."""
    folder = tmp_path_factory.mktemp("collected")
    (folder / "study.yaml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(folder / "data" / "warehouse.duckdb"))
        assert main(["collect", str(folder / "study.yaml")]) == 0
    return folder / "data" / "warehouse.duckdb"


@pytest.fixture
def warehouse(collected, tmp_path, monkeypatch):
    """The path of a copy of it."""
    path = tmp_path / "warehouse.duckdb"
    shutil.copy(collected, path)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    monkeypatch.setenv("BAIS_USER", "ada")
    return path


def query(path, sql):
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.sql(sql).fetchall()


def spoil(path, sql):
    with duckdb.connect(str(path)) as connection:
        connection.execute(sql)


def verdict_of(capsys, *more, expect=0):
    assert main(["check", "--json", *more]) == expect
    (verdict,) = json.loads(capsys.readouterr().out)
    return verdict


def test_a_clean_batch_passes_without_a_word_more(warehouse, capsys):
    capsys.readouterr()
    verdict = verdict_of(capsys, "--strict")
    assert (verdict["verdict"], verdict["is_published"], verdict["checks"]) == ("passed", True, [])
    assert main(["check"]) == 0
    assert "passed" in capsys.readouterr().out


def test_a_batch_that_fails_exits_6_and_names_check_threshold_and_trials(warehouse, capsys, golden):
    spoil(warehouse, "update raw.trials set temperature = 7 where anchor_direction = 'low'")
    capsys.readouterr()
    verdict = verdict_of(capsys, "--all", expect=6)
    assert (verdict["verdict"], verdict["is_published"], verdict["n_quarantined"]) == ("failed", False, 20)
    (check,) = [check for check in verdict["checks"] if check["level"] == "fail"]
    assert (check["check_name"], check["threshold"], check["n_offending"]) == ("temperature_out_of_range", 0, 20)
    low = {row[0] for row in query(warehouse, "select trial_id from raw.trials where anchor_direction = 'low'")}
    assert set(check["sample"]) <= low
    assert main(["check", "--batch", verdict["batch_id"]]) == 6
    said = capsys.readouterr().out
    golden(said)
    assert f"20 found, {verdict['batch_id']}." in said
    assert f"`bais trial {check['sample'][0]}`" in said
    assert f"`bais accept '{verdict['batch_id']}' --why TEXT`" in said
    assert "more" not in said


WRONG = """
create temp table copies as select n::int as n from range(40) as t (n);
insert into raw.batches by name
select batches.* replace ('b' || n as batch_id, 'recorded' as source) from copies, raw.batches as batches;
insert into raw.batch_verdicts by name
select
    verdicts.* replace (
        'v' || n as verdict_id, 'b' || n as batch_id, if(n < 30, 'failed', 'passed_with_warnings') as verdict
    )
from copies, raw.batch_verdicts as verdicts;
insert into raw.batch_checks by name
select
    'v' || n as verdict_id, 'b' || n as batch_id, if(n < 30, 'fail', 'warn') as level, n + 1 as observed_value,
    false as is_passed, 'count over batch' as measure, 0 as threshold, check_name,
    if(n < 30, n, length(check_name)) + 1 as n_offending, [] as sample,
    'vendor/llm-' || n || ' sacd high: a long example of what is wrong with it' as detail
from copies, unnest(if(n < 29, ['another_unit'], if(n = 29, ['no_answer'], $kinds))) as t (check_name);
"""


def test_what_is_wrong_fits_a_screen_worst_first_however_much_it_is(warehouse, monkeypatch, capsys, golden):
    kinds = sorted(set(read_config()["checks"]) - {"another_unit", "no_answer"})
    assert len(kinds) > 30
    spoil(warehouse, WRONG.replace("$kinds", str(kinds)))
    monkeypatch.setattr("bais.terminal.terminal_width", lambda: 80)
    capsys.readouterr()
    assert main(["check"]) == 6
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert (len(lines) <= 20, max(map(len, lines)) <= 80) == (True, True), said
    assert lines[2].split()[:5] == ["FAILED", "another_unit", "435", "29", "llm-28"]
    golden(said)


@pytest.mark.slow("audits again and again")
def test_a_kind_says_of_which_llms_and_batches_it_is_and_which_commands_mend_it(warehouse, capsys, golden):
    spoil(
        warehouse,
        "update raw.trials set llm_recorded = 'vendor/new' where trial_id in (select min(trial_id) from raw.trials)",
    )
    main(["check", "--all"])
    capsys.readouterr()
    main(["check", "--kind", "unknown_llm"])
    golden(capsys.readouterr().out)
    assert main(["check", "--kind", "refused"]) == 2
    golden(capsys.readouterr().err)


def test_warnings_of_simulated_studies_are_not_counted_beside_real_ones(warehouse, capsys):
    simulated = "update raw.batches set source = 'simulated' where batch_id in ('b38', 'b39')"
    spoil(warehouse, WRONG.replace("$kinds", "['refused', 'drift']") + simulated)
    capsys.readouterr()
    main(["check"])
    said = capsys.readouterr().out
    assert [line.split()[2] for line in said.splitlines() if line.startswith("refused")] == ["8"]
    assert "2 with warnings are simulated" in said


def test_trials_that_a_later_version_has_replaced_are_not_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))
    for shift in (0, 1):  # of 40 trials of two new LLMs, every second one has another number in the second version
        rows = [
            f"{llm},v,law,months,no_technique,none,{20 + shift * (n % 2)},{llm[0]}{n}"
            for llm in ("a/x", "b/y")
            for n in range(20)
        ]
        header = "llm,vignette,domain,response_unit,technique,anchor_direction,number,own_id"
        (tmp_path / "mine.csv").write_text("\n".join([header, *rows]) + "\n")
        assert main(["import", str(tmp_path / "mine.csv"), "--study", "mine", "--source", "mine"]) == 0
    capsys.readouterr()
    assert main(["check"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "new_llm 40 " in said
    assert "40 trials suspect" in said
    assert "No prompt is kept of 40 recorded trials of mine" in said


def test_each_check_of_the_gate_has_words():
    config = read_config()
    assert {*config["checks"], *config["score_checks"]} <= words_of_checks().keys()


def test_a_cell_in_which_something_is_wrong_is_named_in_words(golden):
    golden(_in_full("a/b no_technique none: 3 of 4"))
    golden(_in_full("a/b sacd high: 3 of 4"))
    golden(_in_full("recorded 1.0, the text says 150.0."))


def test_all_lists_the_decisions_that_differ_by_reading(warehouse, capsys, golden):
    of = {"study": "s", "domain": "loan", "goal": "displacement", "control": "no_technique"}
    decisions = [
        of | {"technique": "sacd", "decision": "use", "reason": "too_few_llms; reading_would_change"},
        of | {"llm": "vendor/name", "technique": "sacd", "decision": "no_evidence", "reason": "one_llm"},
        of | {"technique": "premortem", "decision": "avoid"},
        of | {"technique": "calm", "goal": "gap", "decision": "use", "reason": "hangs_on_suspect_rows"},
    ]
    with duckdb.connect(str(warehouse)) as made:
        fill(made, {"inference.decisions": decisions})
    capsys.readouterr()
    assert main(["check", "--all"]) == 0
    said = capsys.readouterr().out
    golden(said, "Decisions", "recorded numbers")
    golden(said, "Decisions", "doubts")
    golden(said, "1 decision in loan")
    assert "s  loan  all  calm  gap" in " ".join(said.split()).replace(" ", "  ")
    (line,) = [line for line in said.splitlines() if "displacement" in line]
    assert line.split() == ["s", "loan", "all", "sacd", "displacement", "no_technique", "use"]
    assert main(["check"]) == 0
    said = capsys.readouterr().out
    assert "1 decision in loan" in said, "what hangs on doubted answers is said always"
    assert not {"calm", "premortem", "sacd"} & set(said.split())


@pytest.mark.slow("audits again and again")
def test_accepting_a_failed_batch_publishes_it_and_the_history_says_who_and_why(warehouse, capsys):
    spoil(warehouse, "update raw.trials set temperature = 7 where anchor_direction = 'low'")
    assert main(["check", "--all"]) == 6
    batch_id = query(warehouse, "select batch_id from raw.batches")[0][0]
    assert main(["accept", batch_id, "--why", "the endpoint counts in tenths"]) == 0
    assert main(["check"]) == 0
    assert main(["reject", batch_id, "--why", "it does not", "--who", "grace"]) == 0
    assert main(["check", "--strict"]) == 0  # decided: there is nothing left to do
    assert query(warehouse, "select count(*) from raw.batch_verdicts where verdict = 'failed'") == [(1,)]
    capsys.readouterr()
    assert verdict_of(capsys)["is_published"] is False
    acts = query(warehouse, "select object, object_id, act, who, why from raw.gate_acts order by acted_at")
    assert acts == [
        ("batch", batch_id, "accept", "ada", "the endpoint counts in tenths"),
        ("batch", batch_id, "reject", "grace", "it does not"),
    ]


@pytest.mark.slow("audits again and again")
def test_an_acceptance_and_a_release_hold_until_an_audit_finds_more(warehouse, capsys, golden):
    some = "trial_id in (select trial_id from raw.trials order by all limit {})"
    hot = f"update raw.trials set temperature = 7 where {some}"
    spoil(warehouse, hot.format(3))
    assert main(["check", "--all"]) == 6
    ((batch_id, released),) = query(warehouse, "select batch_id, min(trial_id) from raw.flagged_trials group by all")
    capsys.readouterr()
    assert main(["accept", batch_id, "--why", "the endpoint counts in tenths"]) == 0
    assert main(["release", released, "--why", "read by hand"]) == 0
    golden(capsys.readouterr().out)
    verdict = verdict_of(capsys, "--all")
    assert (verdict["is_published"], verdict["n_quarantined"]) == (True, 2)
    spoil(warehouse, hot.format(4))
    verdict = verdict_of(capsys, "--all", expect=6)
    assert (verdict["is_published"], verdict["n_quarantined"]) == (False, 3)
    spoil(warehouse, "update raw.trials set temperature = 8 where temperature = 7")
    assert verdict_of(capsys, "--all", expect=6)["n_quarantined"] == 4, "another finding on a trial that was released"


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--batch", "nope"],
        ["accept", "nope", "--why", "x"],
        ["release", "nope", "--why", "x"],
        ["accept", "nope", "--why", "  "],
    ],
    ids=" ".join,
)
def test_what_is_not_there_or_has_no_reason_is_one_sentence(warehouse, capsys, arguments, golden):
    capsys.readouterr()
    assert main(arguments) == 2
    complained = capsys.readouterr().err
    golden(complained)
    assert complained.count("\n") == 1


def test_without_a_warehouse_there_is_nothing_to_check(tmp_path, monkeypatch, capsys, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "none.duckdb"))
    assert main(["check"]) == 0
    golden(capsys.readouterr().out)
    assert not (tmp_path / "none.duckdb").exists()


def test_what_could_not_be_read_is_said_beside_the_verdicts(warehouse, capsys):
    leave_unread(warehouse, "small")
    capsys.readouterr()
    assert main(["check"]) == 0
    assert SAID_OF_UNREAD.search(capsys.readouterr().out)


def test_a_check_that_observed_nothing_is_called_a_failure_whatever_its_level(warehouse, capsys, golden):
    spoil(
        warehouse,
        "insert into raw.batch_checks by name select verdict_id, batch_id, 'refused' as check_name, 'warn' as level, "
        "false as is_passed, 'share' as measure, 0.1 as threshold, 0 as n_offending, [] as sample "
        "from raw.batch_verdicts",
    )
    capsys.readouterr()
    main(["check"])
    said = capsys.readouterr().out
    golden(said, "FAILED refused")
    main(["check", "--kind", "refused"])
    said = capsys.readouterr().out
    assert "FAILED, refused:" in said
    golden(said, "observed")


@pytest.mark.parametrize(
    ("table", "command"),
    [
        ("batch_verdicts", ["check"]),
        ("trials", ["check", "--all"]),
        ("trials", ["sql", "from raw.trials"]),
        ("trials", ["trial", "a"]),
    ],
)
def test_a_damaged_block_is_one_sentence_that_says_what_to_do(warehouse, capsys, table, command):
    damage(warehouse, f"raw.{table}")
    capsys.readouterr()
    assert main(command) == 2
    said = capsys.readouterr().err
    assert ("is damaged: put a copy of it in its place" in said, said.count("\n")) == (True, 1)


def test_a_cut_off_warehouse_is_one_sentence(warehouse, capsys):
    for size in (12288, 4096):
        warehouse.write_bytes(warehouse.read_bytes()[:size])
        capsys.readouterr()
        assert main(["check"]) == 2
        said = capsys.readouterr().err
        assert ("is damaged" in said, said.count("\n")) == (True, 1)
