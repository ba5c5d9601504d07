"""Equivalence agrees with statsmodels' TOST on expanded rows, and is never inferred from anything else."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind, ttost_paired

from analysis.counts import compared
from analysis.methods.equivalence import COLUMNS, equivalence_tests
from analysis.methods.t_and_f_tests import t_bounds, tost_p
from analysis.tables import table

TECHNIQUES = pd.DataFrame(
    [("no_technique", False), ("outside_view", False), ("premortem", True), ("sacd", True)],
    columns=["technique", "is_ranked"],
)
ACCEPTED = (("accepted", "pooled"),)


def responses(rows, **same):
    """Rows (llm, technique, anchor_direction, response, n_trials) of one study, else as `same` says."""
    names = ["llm", "technique", "anchor_direction", "response", "n_trials"]
    common = {"study": "s", "domain": "d", "vignette": "v", "temperature": 1.0, "row_set": "accepted"}
    frame = pd.DataFrame(rows, columns=names).astype({"response": float, "n_trials": "int64"})
    return frame.assign(**{**common, "response_source": "recorded", **same})


def simulated(seed, *, n_llms=6, sd=4.0, spread=4.0, n_baseline=3):
    rng = np.random.default_rng(seed)
    rows = []
    for llm in range(n_llms):
        level = rng.integers(30, 60)
        rows += [(f"m{llm}", "no_technique", "none", level + k, 2) for k in range(n_baseline)]
        for technique in TECHNIQUES["technique"]:
            for direction, shift in (("low", -spread / 2), ("high", spread / 2)):
                drawn = np.round(rng.normal(level + shift, sd, 12))
                rows += [
                    (f"m{llm}", technique, direction, value, n)
                    for value, n in zip(*np.unique(drawn, return_counts=True), strict=True)
                ]
    return responses(rows)


def equivalences(frame, **options):
    rows = equivalence_tests(frame, TECHNIQUES, **{"margin_pp": 5.0, "specifications": ACCEPTED, **options})
    return table(rows, COLUMNS).to_pandas()


def of(rows, a, b, level, method=None):
    rows = rows[(rows["technique_a"] == a) & (rows["level"] == level)]
    rows = rows[rows["technique_b"].isna() if b is None else rows["technique_b"] == b]
    if method:
        rows = rows[rows["method"].str.contains(method)]
    (row,) = rows.to_dict("records")
    return row


def expanded(frame, technique, directions=("low", "high")):
    rows = compared(frame)
    rows = rows[(rows["technique"] == technique) & rows["anchor_direction"].isin(directions)]
    return rows.loc[rows.index.repeat(rows["n_trials"])]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("margin", [0.5, 5.0])
def test_trial_level_is_tost_with_unequal_variances_on_the_expanded_rows(seed, margin):
    frame = simulated(seed)
    rows = equivalences(frame, margin_pp=margin)
    for a, b in (("sacd", "premortem"), ("outside_view", "no_technique")):
        row = of(rows, a, b, "trial")
        x, y = (expanded(frame, name)["percent_of_baseline"] for name in (a, b))
        assert row["p_value"] == pytest.approx(ttost_ind(x, y, -margin, margin, usevar="unequal")[0], rel=1e-6)
        bounds = CompareMeans(DescrStatsW(x), DescrStatsW(y)).tconfint_diff(alpha=0.1, usevar="unequal")
        assert (row["low_90"], row["high_90"]) == pytest.approx(bounds, rel=1e-7)
        assert row["smallest_margin_pp"] == pytest.approx(max(np.abs(bounds)), rel=1e-7)


def test_llm_level_is_paired_tost_of_the_means_of_llms():
    frame = simulated(3)
    row = of(equivalences(frame), "sacd", "premortem", "llm")
    x, y = (expanded(frame, name).groupby("llm")["percent_of_baseline"].mean() for name in ("sacd", "premortem"))
    assert row["p_value"] == pytest.approx(ttost_paired(x.to_numpy(), y.to_numpy(), -5, 5)[0], rel=1e-6)
    bounds = DescrStatsW(x - y).tconfint_mean(alpha=0.1)
    assert (row["low_90"], row["high_90"]) == pytest.approx(bounds, rel=1e-7)


def test_the_spread_without_a_technique_is_compared_with_zero():
    frame = simulated(4)
    rows = equivalences(frame)
    high, low = (expanded(frame, "no_technique", (one,)) for one in ("high", "low"))
    x, y = high["percent_of_baseline"], low["percent_of_baseline"]
    row = of(rows, "no_technique", None, "trial", "tost_welch$")
    assert (row["metric"], row["difference"]) == ("spread_pp", pytest.approx(x.mean() - y.mean(), rel=1e-9))
    assert row["p_value"] == pytest.approx(ttost_ind(x, y, -5, 5, usevar="unequal")[0], rel=1e-6)
    of_llms = high.groupby("llm")["percent_of_baseline"].mean() - low.groupby("llm")["percent_of_baseline"].mean()
    row = of(rows, "no_technique", None, "llm")
    described = DescrStatsW(of_llms)
    assert row["p_value"] == pytest.approx(max(described.ttost_mean(-5, 5)[0], 0), rel=1e-6)


def test_the_delta_method_adds_the_variance_of_the_baseline():
    # baseline 9, 11: mean 10, variance 2, of the mean 1; the spread is 60 pp, and 60 / 10 of it for each unit
    frame = responses(
        [("m", "no_technique", "none", value, 1) for value in (9, 11)]
        + [("m", "no_technique", "low", value, 2) for value in (6, 8)]
        + [("m", "no_technique", "high", value, 2) for value in (12, 14)]
    )
    rows = equivalences(frame)
    plain, with_baseline = (of(rows, "no_technique", None, "trial", name) for name in ("welch; these", "delta"))
    assert plain["difference"] == with_baseline["difference"] == pytest.approx(60)
    assert with_baseline["standard_error"] ** 2 == pytest.approx(plain["standard_error"] ** 2 + 36, rel=1e-12)
    squares, dfs = [plain["standard_error"] ** 2, 36], [plain["df"], 1]
    assert with_baseline["df"] == pytest.approx(
        sum(squares) ** 2 / sum(s**2 / d for s, d in zip(squares, dfs, strict=True))
    )


def test_the_delta_method_has_the_spread_of_simulated_baselines():
    rng = np.random.default_rng(8)
    spreads = []
    for _ in range(2000):
        baseline = rng.normal(50, 10, 8).mean()
        spreads.append(100 * (rng.normal(60, 5, 10).mean() - rng.normal(40, 5, 10).mean()) / baseline)
    # the same means and standard deviations, exactly
    spaced = np.array([-1.0, 1.0] * 5) * math.sqrt(9 / 10)
    frame = responses(
        [("m", "no_technique", "none", 50 + 10 * z, 1) for z in np.array([-1.0, 1.0] * 4) * math.sqrt(7 / 8)]
        + [("m", "no_technique", "low", 40 + 5 * z, 1) for z in spaced]
        + [("m", "no_technique", "high", 60 + 5 * z, 1) for z in spaced]
    )
    row = of(equivalences(frame), "no_technique", None, "trial", "delta")
    assert row["standard_error"] == pytest.approx(np.std(spreads), rel=0.1)


def test_one_baseline_trial_has_no_variance_to_add():
    row = of(equivalences(simulated(1, n_baseline=1).assign(n_trials=1)), "no_technique", None, "trial", "delta")
    assert (row["status"], row["reason"]) == ("one_baseline_trial", "one_baseline_trial")
    assert math.isnan(row["p_value"])


def test_equal_answers_have_a_status_and_are_not_called_equivalent():
    rows = [(f"m{llm}", "no_technique", "none", 6, 5) for llm in range(5)]
    for technique in ("no_technique", "sacd", "premortem"):
        rows += [(f"m{llm}", technique, one, 6, 30) for llm in range(5) for one in ("low", "high")]
    rows = equivalences(responses(rows))
    assert set(rows["status"]) == set(rows["reason"]) == {"zero_variance"}
    assert rows["equivalent"].isna().all()
    assert rows["p_value"].isna().all()
    assert (rows["difference"] == 0).all()


def test_below_five_llms_the_llm_level_is_null_and_the_trial_level_speaks_for_these_llms_only():
    rows = equivalences(simulated(1, n_llms=4))
    llm, trial = of(rows, "sacd", "premortem", "llm"), of(rows, "sacd", "premortem", "trial")
    assert (llm["status"], llm["equivalent"]) == ("too_few_llms", None)
    assert math.isfinite(llm["difference"])
    assert math.isnan(llm["p_value"])
    assert trial["method"] == "tost_welch; these_llms_only"
    assert of(equivalences(simulated(1)), "sacd", "premortem", "trial")["method"] == "tost_welch"


def test_a_difference_that_is_not_significant_is_not_equivalent_for_that():
    rows = equivalences(simulated(5, sd=30.0))
    row = of(rows, "sacd", "premortem", "llm")
    assert row["low_90"] < 0 < row["high_90"]
    assert (row["equivalent"], row["status"]) == (False, "not_established")


@given(st.floats(-20, 20), st.floats(0.01, 20), st.floats(1, 500), st.floats(0.01, 20))
@settings(max_examples=30)
def test_tost_rejects_where_the_interval_lies_within_the_margin(difference, error, df, margin):
    p_value, (low, high) = tost_p(difference, error, df, margin), t_bounds(difference, error, df, 0.9)
    smallest = max(-low, high)
    if abs(smallest - margin) > 1e-6 * margin:
        assert (p_value < 0.05) == (smallest < margin)
    assert tost_p(-difference, error, df, margin) == pytest.approx(p_value, rel=1e-9)
    assert tost_p(difference, error, df, 2 * margin) <= p_value
    assert tost_p(difference, error, df, smallest) == pytest.approx(0.05, rel=1e-6)


@given(st.randoms(use_true_random=False), st.floats(0.1, 1000))
@settings(max_examples=6)
def test_order_splits_names_and_units_change_nothing(random, unit):
    frame = simulated(6)
    names = [f"m{llm}" for llm in range(6)]
    renamed = dict(zip(names, random.sample(names, 6), strict=True))
    halves = [frame.assign(n_trials=frame["n_trials"] // 2), frame.assign(n_trials=(frame["n_trials"] + 1) // 2)]
    changed = pd.concat(halves).query("n_trials > 0").sample(frac=1, random_state=random.randrange(1000))
    changed = changed.assign(llm=changed["llm"].map(renamed), response=changed["response"] * unit)
    left, right = equivalences(changed), equivalences(frame)
    numbers = [name for name, kind in COLUMNS.items() if kind in ("double", "bigint")]
    np.testing.assert_allclose(left[numbers].astype(float), right[numbers].astype(float), rtol=1e-7, atol=1e-9)
    assert (left["status"] == right["status"]).all()


def test_one_technique_one_direction_and_nothing_give_the_rows_that_they_can():
    frame = simulated(1)
    alone = equivalences(frame[frame["technique"] == "no_technique"])
    assert set(alone["metric"]) == {"spread_pp"}
    assert len(alone) == 3
    low = equivalences(frame[frame["anchor_direction"] != "high"])
    assert set(low["metric"]) == {"percent_of_baseline"}
    assert equivalences(frame[frame["technique"] == "sacd"]).empty
    assert list(equivalences(frame.iloc[:0]).columns) == list(COLUMNS)


def test_the_margin_is_positive():
    with pytest.raises(ValueError, match="positive margin"):
        equivalence_tests(simulated(1), TECHNIQUES, margin_pp=0)
