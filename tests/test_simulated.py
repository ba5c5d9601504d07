"""What a stranger has on a machine with nothing but the project: an empty warehouse, then simulated respondents."""

import re
import shutil

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.stats

from ingest.land.raw import TABLES, raw_statements
from tests.tools.contracts import relation_of

MARTS = [
    "trials",
    "counts",
    "conditions",
    "effects",
    "technique_effects",
    "attrition",
    "drift",
    "technique_costs",
]


@pytest.fixture(scope="module")
def empty(tmp_path_factory, warehouse_in):
    """What dbt alone makes where nothing was landed."""
    warehouse = warehouse_in(tmp_path_factory.mktemp("empty"))
    warehouse.dbt("--quiet", "build", "--exclude-resource-type", "unit_test")  # tests/test_unit_models.py has these
    return warehouse


@pytest.mark.slow("builds and tests every table")
def test_an_empty_warehouse_builds_and_passes_its_tests(empty):
    assert empty.query("select count(*) from marts.trials") == [(0,)]
    verdicts = empty.query(
        "select distinct coalesce(inputs_are, 'trials'), recomputes, checks.holds from marts.claim_checks as checks "
        "inner join claims.published_claims as claims "
        "on checks.claim_id = claims.claim_id and checks.part is not distinct from claims.part"
    )
    # what follows from other printed numbers needs no trials; document C is compared with printed numbers alone
    assert set(verdicts) == {
        ("printed", "yes", "not_applicable"), ("printed", "yes", None), ("printed", "no", None),
        ("printed", "no", "not_applicable"), ("printed", "yes", "other_way"), ("printed", "no", "other_way"),
        ("printed", "yes", "confounded"), ("printed", "no", "confounded"),
        ("trials", "not_checked", "not_applicable"), ("trials", "not_checked", None),
        ("trials", "not_derivable", "not_applicable"), ("trials", "not_derivable", None),
    }  # fmt: skip


def test_dbt_and_python_make_the_same_tables_of_raw_with_what_is_declared_of_them(new_warehouse):
    new_warehouse.dbt("--quiet", "run", "--select", "stg_trials")
    columns = """
        select table_name, column_name, data_type, is_nullable from duckdb_columns()
        where schema_name = 'raw' order by table_name, column_index
    """
    with duckdb.connect() as made_by_python:
        made_by_python.execute(raw_statements())
        assert new_warehouse.query(columns) == made_by_python.sql(columns).fetchall()
    meanings = "select table_name, column_name, comment from duckdb_columns() where schema_name = 'raw'"
    declared = {
        (name, column): of["description"] for name, table in TABLES.items() for column, of in table.columns.items()
    }
    assert {(name, column): meaning for name, column, meaning in new_warehouse.query(meanings)} == declared
    tables = "select table_name, comment from duckdb_tables() where schema_name = 'raw'"
    assert dict(new_warehouse.query(tables)) == {name: table.description for name, table in TABLES.items()}


@pytest.mark.parametrize("mart", MARTS)
def test_every_row_of_every_mart_is_of_the_study_simulated(simulated, mart):
    assert simulated.query(f"select distinct study from {relation_of(mart)}") == [("simulated",)]


def test_every_row_that_was_landed_is_labelled_simulated(simulated):
    for table, column in [
        ("raw.trials", "source"),
        ("raw.batches", "source"),
        ("raw.calls", "cost_source"),
        ("raw.calls", "upstream_provider"),
        ("raw.prompts", "study"),
        ("marts.trials", "source"),
    ]:
        assert simulated.query(f"select distinct {column} from {table}") == [("simulated",)], (table, column)
    assert simulated.query("select bool_and(llm like 'sim/%') from marts.trials") == [(True,)]
    assert simulated.query("select bool_and(llm_returned = llm_recorded) from raw.trials") == [(True,)]


def test_what_is_asked_of_whom_is_what_the_study_says(simulated):
    # 7 respondents, 4 vignettes, 3 temperatures, 10 trials; the silent one has no baseline and so no anchors
    phases = dict(simulated.query("select phase, count(*) from raw.trials where phase != 'top-ups' group by all"))
    assert phases == {"baselines": 7 * 4 * 3 * 10, "anchored": 6 * 4 * 6 * 2 * 3 * 10}
    topped_up = simulated.query(
        "select count(*) from raw.trials where phase = 'top-ups' "
        "group by llm_recorded, vignette, technique, anchor_direction, temperature"
    )
    assert set(topped_up) == {(5,)}


def test_anchors_are_half_and_one_and_a_half_of_the_baseline_that_is_written_beside_them(simulated):
    rows = simulated.query(
        "select distinct llm_recorded, vignette, anchor_direction, anchor_value, anchor_baseline, anchor_n_trials, "
        "anchor_rule::varchar from raw.trials where anchor_value is not null"
    )
    assert len(rows) == 6 * 4 * 2
    for _, _, direction, anchor, baseline, n_trials, rule in rows:
        exact = baseline * {"low": 0.5, "high": 1.5}[direction]
        assert anchor == int(anchor)
        assert -0.5 < anchor - exact <= 0.5
        assert 0 < n_trials <= 30
        assert rule == '{"proportional":{"low":0.5,"high":1.5}}'


def test_each_trial_is_made_of_its_calls_and_each_call_of_a_prompt_that_is_there(simulated):
    counted = simulated.query(
        "select technique, min(n), max(n) from (select any_value(technique) as technique, count(*) as n "
        "from raw.trials inner join raw.calls using (trial_id) where trials.response_text not like 'I''m sorry%' "
        "group by trial_id) group by all order by all"
    )
    assert counted == [
        ("devils_advocate", 3, 3),
        ("no_technique", 1, 1),
        ("outside_view", 3, 3),
        ("premortem", 3, 3),
        ("random_control", 3, 3),
        ("sacd", 6, 12),  # one to three rounds of three, the verdict that ends them, and the two answers
    ]
    assert simulated.query(
        "select count(*) from raw.trials anti join raw.prompts using (prompt_hash) union all "
        "select count(*) from raw.calls anti join raw.prompts using (prompt_hash) union all "
        "select count(*) from raw.calls anti join raw.trials using (trial_id)"
    ) == [(0,), (0,), (0,)]


def test_every_mart_that_names_domains_has_rows_for_every_one(simulated):
    for mart in MARTS[:-1]:
        domains = simulated.query(f"select distinct domain from {relation_of(mart)} order by 1")
        assert domains == [("judicial",), ("loan",), ("medical",), ("salary",)], mart


def test_an_llm_that_always_answers_the_same_has_a_baseline_without_variance(simulated):
    rows = simulated.query(
        "select distinct sd, reason from marts.conditions where is_baseline and llm = 'sim/constant'"
    )
    assert rows == [(0.0, None)]


def test_an_llm_that_only_refuses_is_in_the_trials_and_has_neither_baseline_nor_anchors(simulated):
    of_silent = "from marts.{} where llm = 'sim/silent'"
    assert simulated.query(f"select distinct status, response, baseline {of_silent.format('trials')}") == [
        ("refused", None, None)
    ]
    assert simulated.query(f"select distinct reason {of_silent.format('trials')}") == [("refused; no_baseline",)]
    assert simulated.query(f"select distinct answered_share {of_silent.format('attrition')}") == [(0.0,)]
    assert simulated.query(f"select count(*) {of_silent.format('effects')}") == [(0,)]
    assert simulated.query(
        "select bool_and(is_baseline), sum(n_trials), any_value(mean), list(distinct reason) "
        f"{of_silent.format('conditions')}"
    ) == [(True, 0, None, ["no_answers; no_baseline"])]
    assert simulated.query(f"select count(*) {of_silent.format('trials')} and anchor_direction != 'none'") == [(0,)]


def test_refusals_are_counted_and_not_answers(simulated):
    (refused, answered, asked), *_ = simulated.query(
        "select sum(n_refused), sum(n_answered), sum(n_asked) from marts.attrition where llm = 'sim/refuser'"
    )
    assert refused > 0
    assert refused + answered == asked
    assert simulated.query("select count(*) from marts.trials where status = 'refused' and response is not null") == [
        (0,)
    ]


def test_technique_effects_agree_with_pandas_and_scipy_on_the_trials(simulated):
    trials = simulated.frame("select * from marts.trials where status = 'answered'")
    unanchored = trials[(trials.anchor_direction == "none") & (trials.technique == "no_technique")]
    at = unanchored.groupby(["vignette", "llm", "temperature"]).response.mean()
    anchored = trials[trials.anchor_direction != "none"].copy()
    keys = pd.MultiIndex.from_frame(anchored[["vignette", "llm", "temperature"]])
    anchored["percent"] = 100 * anchored.response / at.reindex(keys).to_numpy()
    anchored = anchored.dropna(subset="percent")

    effects = simulated.frame(
        "select * from papers.technique_effects where baseline_scope = 'matched' and temperature_scope = 'pooled' "
        "and row_set = 'accepted' and technique != 'sacd_initial'"
    ).fillna({"llm": "all"})
    effects = effects.set_index(["vignette", "technique", "llm", "anchor_direction", "weighting"]).sort_index()
    n_compared = 0
    for (vignette, technique), group in anchored.groupby(["vignette", "technique"]):
        for direction in ("both", "low", "high"):
            cell = group if direction == "both" else group[group.anchor_direction == direction]
            row = effects.loc[(vignette, technique, "all", direction, "trial")]
            percent = cell.percent.to_numpy()
            assert row.n_trials == len(percent)
            expected = {
                "percent_of_baseline": percent.mean(),
                "madb_percent": np.abs(percent - 100).mean(),
                "median_percent_of_baseline": np.median(percent),
                "sd_percent_of_baseline": percent.std(ddof=1),
                "skewness": scipy.stats.skew(percent, bias=False),
                "share_within_10_percent": (np.abs(percent - 100) <= 10 + 1e-9).mean(),
                "share_below_baseline": (percent < 100 - 1e-9).mean(),
            }
            by_llm = effects.loc[(vignette, technique, "all", direction, "llm")]
            assert by_llm.percent_of_baseline == pytest.approx(cell.groupby("llm").percent.mean().mean(), rel=1e-9)
            assert by_llm.median_percent_of_baseline == pytest.approx(
                cell.groupby("llm").percent.median().mean(), rel=1e-9
            )
            for column, value in expected.items():
                assert row[column] == pytest.approx(value, rel=1e-7, abs=1e-9), (vignette, technique, direction, column)
                n_compared += 1
    assert n_compared == 4 * 6 * 3 * 7


@pytest.mark.slow("lands and builds twice")
def test_a_second_run_adds_nothing_and_a_rebuild_changes_nothing(simulated, warehouse_in, tmp_path):
    simulated = warehouse_in(shutil.copytree(simulated.path.parent, tmp_path / "again"))
    sql = "select * from marts.effects order by all"
    before = simulated.frame(sql)
    said = simulated.run("python", "ingest/run.py")
    assert "SIMULATED respondents, no LLM is asked" in said
    assert re.search(r"10,\d{3} collected before, 0 now, 0 left; 0 calls", said)
    assert "loaded: 0 trials added" in said
    assert "0 calls added" in said
    simulated.dbt("--quiet", "run", "--select", "+effects")
    # sums of doubles in parallel differ in the last digits
    pd.testing.assert_frame_equal(simulated.frame(sql), before, rtol=1e-9)
