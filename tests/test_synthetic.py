"""What a stranger has on a machine with nothing but the project: an empty warehouse, then a synthetic study."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

MARTS = [
    "trials",
    "baselines",
    "anchored_conditions",
    "spreads",
    "technique_effects",
    "technique_rankings",
    "response_counts",
    "attrition",
]


def test_an_empty_warehouse_builds_and_passes_its_tests(new_warehouse):
    new_warehouse.run("dbt", "--quiet", "build")
    assert new_warehouse.query("select count(*) from marts.trials") == [(0,)]
    statuses = new_warehouse.query("select distinct status from marts.claim_checks")
    assert set(statuses) == {("not_checked",), ("not_derivable",)}


@pytest.mark.parametrize("mart", MARTS)
def test_every_row_of_every_mart_is_labelled_synthetic(synthetic, mart):
    assert synthetic.query(f"select distinct study from marts.{mart}") == [("synthetic",)]


def test_every_mart_has_rows_for_every_domain(synthetic):
    for mart in MARTS:
        domains = synthetic.query(f"select distinct domain from marts.{mart} order by 1")
        assert domains == [("judicial",), ("loan",), ("medical",), ("salary",)], mart


def test_an_llm_that_always_answers_the_same_has_a_baseline_without_variance(synthetic):
    rows = synthetic.query(
        "select distinct sd_response, sd_population, reason from marts.baselines where llm = 'synthetic/constant'"
    )
    assert rows == [(0.0, 0.0, None)]


def test_an_llm_without_a_baseline_is_in_the_trials_but_has_no_percentage(synthetic):
    assert synthetic.query("select count(*) > 0 from marts.trials where llm = 'synthetic/latecomer'") == [(True,)]
    assert synthetic.query("select count(*) from marts.baselines where llm = 'synthetic/latecomer'") == [(0,)]
    rows = synthetic.query(
        "select distinct percent_of_baseline, reason from marts.anchored_conditions where llm = 'synthetic/latecomer'"
    )
    assert rows == [(None, "no_baseline")]


def test_refusals_are_counted_and_not_answers(synthetic):
    (refused, answered, asked), *_ = synthetic.query(
        "select sum(n_refused), sum(n_answered), sum(n_asked) from marts.attrition where llm = 'synthetic/refuser'"
    )
    assert refused > 0
    assert refused + answered == asked
    assert synthetic.query("select count(*) from marts.trials where status = 'refused' and response is not null") == [
        (0,)
    ]


def test_technique_effects_agree_with_pandas_and_scipy_on_the_trials(synthetic):
    trials = synthetic.frame("select * from marts.trials where status = 'answered'")
    unanchored = trials[(trials.anchor_direction == "none") & (trials.technique == "no_technique")]
    at = unanchored.groupby(["vignette", "llm", "temperature"]).response.mean()
    anchored = trials[trials.anchor_direction != "none"].copy()
    keys = pd.MultiIndex.from_frame(anchored[["vignette", "llm", "temperature"]])
    anchored["percent"] = 100 * anchored.response / at.reindex(keys).to_numpy()
    anchored = anchored.dropna(subset="percent")

    effects = synthetic.frame(
        "select * from marts.technique_effects where baseline_scope = 'matched' and temperature_scope = 'pooled' "
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


def test_a_second_run_adds_nothing_and_a_rebuild_changes_nothing(synthetic):
    sql = "select * from marts.technique_rankings order by all"
    before = synthetic.frame(sql)
    assert "0 added" in synthetic.run("python", "ingest/run.py")
    synthetic.run("dbt", "--quiet", "run", "--select", "+technique_rankings")
    # sums of doubles in parallel differ in the last digits
    pd.testing.assert_frame_equal(synthetic.frame(sql), before, rtol=1e-9)
