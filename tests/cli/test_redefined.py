"""A range, unit or domain that a study file corrects: it holds for all answers alike, and what that changes is said."""

import contextlib
import json

import duckdb
import pytest

from bais.main import main
from ingest.land import load
from ingest.land.models import Models, query_of
from tests.tools.contracts import fill, make_tables

AGAIN = pytest.mark.slow("asks, changes and audits again and again")

STUDY = """
study: small
llms: [sim/anchored]
vignettes: [{{vignette: burglary, {changes}}}]
techniques: [no_technique]
anchors: {{fixed: {{low: 15, high: 45}}}}
stopping_rule: {{minimum: {minimum}}}
"""


@pytest.fixture(autouse=True)
def warehouse(tmp_path, monkeypatch):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))


@pytest.fixture
def asked(tmp_path, capsys):
    """Run a command on the study with changes of its vignette; return the exit code and what was said."""

    def run(command, changes="version: 1", *options, minimum=4):
        (tmp_path / "study.yaml").write_text(STUDY.format(changes=changes, minimum=minimum))
        capsys.readouterr()
        code = main([command, str(tmp_path / "study.yaml"), *options])
        return code, "".join(capsys.readouterr())

    return run


def ask(sql):
    with contextlib.closing(duckdb.connect()) as memory:
        memory.execute(f"attach '{load.warehouse_path()}' as warehouse (read_only)")
        models = Models(memory, {"raw": "warehouse.raw"}, {"response_source": "recorded"})
        return memory.sql(sql.replace("TRIALS", models.ref("int_trials_identified"))).fetchall()


@AGAIN
def test_a_range_that_is_corrected_is_applied_and_audited_though_nothing_is_asked(asked, golden):
    asked("collect")
    assert asked("collect", "valid_max: 33")[0] == 6  # answers to the high anchor lie above
    assert ask("select count(*) from TRIALS") == [(0,)]
    code, said = asked("collect")
    assert code == 0
    assert "12 collected before, 0 now" in said
    golden(said, "240", "33")
    golden(said, "gate: burglary")
    assert ask("select valid_max, status, count(*) from TRIALS group by all") == [(240, "answered", 12)]
    assert ask("select n_trials from warehouse.raw.batches order by ordinal") == [(12,), (0,), (0,)]


@pytest.mark.slow("asks, changes and audits again and again")
def test_nothing_is_unpublished_by_a_correction_without_being_said(asked, golden):
    assert asked("collect")[0] == 0
    code, said = asked("collect", "valid_max: 33")
    assert code == 6
    golden(said, "`bais build`", "12 trials")
    assert ask("select count(*) from TRIALS") == [(0,)]


@AGAIN
def test_a_correction_that_comes_with_new_answers_has_the_old_ones_audited_again_too(asked, golden):
    assert asked("collect")[0] == 0
    code, said = asked("collect", "valid_max: 33", minimum=8)
    assert code == 6
    golden(said, "12 trials")
    assert ask("select count(*) from TRIALS") == [(12,)]  # those that were asked with the new range


def test_a_bound_that_is_taken_away_is_gone():
    query = query_of("int_vignettes_stated")
    with contextlib.closing(duckdb.connect()) as memory:
        of = {
            "study": "s", "vignette": "v", "domain": "loan", "response_unit": "USD", "source": "collected",
            "n_trials": 1,
        }  # fmt: skip
        bounded = of | {"batch_id": "a", "valid_min": 0, "valid_max": 9, "loaded_at": "2026-01-09", "ordinal": 1}
        free = of | {"batch_id": "b", "loaded_at": "2026-01-02", "ordinal": 2}
        fill(memory, {"raw.batches": [bounded, free]})
        assert memory.sql(f"select valid_min, valid_max from ({query})").fetchall() == [(None, None)]


@AGAIN
def test_what_was_audited_with_what_holds_is_not_audited_again(asked):
    asked("collect", "valid_max: 33")
    asked("collect")
    said = asked("collect")[1]
    assert "gate:" not in said
    assert ask("select count(*) from warehouse.raw.batch_verdicts") == [(2,)]
    assert ask("select count(*) from warehouse.raw.batches") == [(2,)]


@pytest.mark.slow("asks, changes and audits again and again")
def test_the_plan_says_how_many_answers_a_correction_changes(asked, golden):
    asked("collect")
    said = asked("plan", "valid_max: 33")[1]
    ((n,),) = ask("select count(*) from TRIALS where response > 33")
    assert 3 < n < 8
    golden(said, "answers up to 33", f"{n} of its 12", f"({n} ")
    assert json.loads(asked("plan", "valid_max: 33", "--json")[1])["collected"]["redefined"] == n
    assert "answers up to" not in asked("plan")[1]


@AGAIN
def test_a_domain_that_is_corrected_is_that_of_every_answer(asked, golden):
    asked("collect")
    said = asked("plan", "domain: criminal")[1]
    golden(said, "12 of its 12")
    asked("collect", "domain: criminal")
    assert ask("select distinct domain from TRIALS") == [("criminal",)]


TREATED = """
delete from intermediate.int_trials_treated;
insert into intermediate.int_trials_treated by name
select
    trial_id, study, vignette, 'judicial' as domain, 'months' as response_unit, 0 as valid_min, {most} as valid_max,
    case when n <= 20 then 'answered' else {status} end as status, case when n <= {most} then n end as response
from (
    select *, 2 * row_number() over (order by trial_id) as n from raw.trials
) where {public}
"""


@AGAIN
def test_a_build_says_how_many_answers_a_correction_has_changed_and_how_many_are_not_public_any_more(asked):
    from bais.redefined import answers_redefined, redefined_lines

    path = load.warehouse_path()
    asked("collect")
    with contextlib.closing(duckdb.connect(str(path))) as warehouse:
        make_tables(warehouse, "intermediate.int_trials_treated")
        warehouse.execute(TREATED.format(most=240, status="'answered'", public="true"))
    assert redefined_lines(path, answers_redefined(path)) == []
    asked("collect", "valid_max: 20")
    before = answers_redefined(path)
    with contextlib.closing(duckdb.connect(str(path))) as warehouse:
        warehouse.execute(TREATED.format(most=20, status="'out_of_range'", public="n > 2"))
    assert redefined_lines(path, before) == [
        "burglary of small, answers up to 20, not up to 240: 2 of 12 answers changed, and 1 of them is "
        "not public any more: `bais check` says which batches failed."
    ]
    assert redefined_lines(path, answers_redefined(path)) == []


@AGAIN
def test_what_was_said_of_a_vignette_without_an_answer_goes_with_an_export(asked, tmp_path, monkeypatch):
    asked("collect")
    asked("collect", "domain: criminal")
    batches = "select batch_id, domain, n_trials from warehouse.raw.batches order by ordinal"
    there = ask(batches)
    with contextlib.closing(duckdb.connect(str(load.warehouse_path()))) as warehouse:
        make_tables(warehouse, "marts.trials")
    assert main(["export", str(tmp_path / "out")]) == 0
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "other" / "warehouse.duckdb"))
    assert main(["import", str(tmp_path / "out")]) == 0
    assert ask(batches) == there
    assert len(there) == 2
