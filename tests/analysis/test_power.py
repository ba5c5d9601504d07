"""Power agrees with statsmodels, needed sizes are the smallest that suffice, and what cannot be reached says so."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from analysis.methods.power import (
    COLUMNS,
    detectable_shift,
    needed_llms,
    needed_llms_for_half_width,
    needed_per_group,
    needed_trials_for_half_width,
    power,
    t_test_power,
)
from analysis.tables import table

TECHNIQUES = pd.DataFrame(
    [("no_technique", False), ("premortem", True), ("sacd", True)], columns=["technique", "is_ranked"]
)
NO_COSTS = pd.DataFrame({"study": [], "llm": [], "technique": [], "cost_usd_per_trial": []})
COSTS = pd.DataFrame(
    [("s", "m0", "sacd", 0.03), ("s", "m1", "sacd", 0.05), ("s", "m0", "premortem", 0.01), ("t", "m0", "sacd", 9.0)],
    columns=["study", "llm", "technique", "cost_usd_per_trial"],
)
ACCEPTED = (("accepted", "pooled"),)


def responses(rows):
    """Rows (llm, technique, anchor_direction, response, n_trials) of one study."""
    names = ["llm", "technique", "anchor_direction", "response", "n_trials"]
    frame = pd.DataFrame(rows, columns=names).astype({"response": float, "n_trials": "int64"})
    common = {"study": "s", "domain": "d", "vignette": "v", "temperature": 1.0, "row_set": "accepted"}
    return frame.assign(**common, response_source="recorded")


def simulated(seed, *, n_llms=8, between=6.0, sd=5.0, n=10):
    """LLMs of baseline 100, so that a response is its own percentage; `n` trials of each LLM, technique, direction."""
    rng = np.random.default_rng(seed)
    rows = []
    for llm in range(n_llms):
        rows.append((f"m{llm}", "no_technique", "none", 100, 2))
        for technique, effect in (("premortem", 0), ("sacd", 3 + rng.normal(0, between))):
            for direction, shift in (("low", -10), ("high", 10)):
                rows += [(f"m{llm}", technique, direction, v, 1) for v in rng.normal(90 + effect + shift, sd, n)]
    return responses(rows)


def powers(frame, costs=NO_COSTS, **options):
    rows = power(frame, TECHNIQUES, costs, **{"margin_pp": 5.0, "specifications": ACCEPTED, **options})
    return table(rows, COLUMNS).to_pandas()


def of(rows, quantity, level, target=None):
    rows = rows[(rows["technique_a"] == "sacd") & (rows["quantity"] == quantity) & (rows["level"] == level)]
    rows = rows[rows["target_half_width_pp"].isna() if target is None else rows["target_half_width_pp"] == target]
    (row,) = rows.to_dict("records")
    return row


def percents(frame, technique):
    rows = frame[(frame["technique"] == technique) & (frame["anchor_direction"] != "none")]
    return rows.loc[rows.index.repeat(rows["n_trials"])]


def differences(frame):
    a, b = (percents(frame, name).groupby("llm")["response"].mean() for name in ("sacd", "premortem"))
    return a - b


def test_trial_level_agrees_with_statsmodels():
    frame = simulated(1)
    rows = powers(frame)
    a, b = (percents(frame, name)["response"] for name in ("sacd", "premortem"))
    d = abs(a.mean() - b.mean()) / math.sqrt((a.var() + b.var()) / 2)
    solve = TTestIndPower().solve_power
    row = of(rows, "power", "trial")
    assert row["effect"] == pytest.approx(d, rel=1e-9)
    assert row["power"] == pytest.approx(solve(effect_size=d, nobs1=len(a), alpha=0.05), rel=1e-6)
    row = of(rows, "effect", "trial")
    assert row["effect"] == pytest.approx(solve(nobs1=len(a), power=0.8, alpha=0.05), rel=1e-6)
    assert of(rows, "needed_trials", "trial")["needed_trials"] == math.ceil(solve(effect_size=d, power=0.8, alpha=0.05))


def test_groups_of_unequal_size_agree_with_statsmodels():
    frame = simulated(2)
    frame = frame.assign(n_trials=np.where(frame["technique"] == "sacd", 3, 1))
    row = of(powers(frame), "power", "trial")
    expected = TTestIndPower().power(row["effect"], nobs1=3 * 160, alpha=0.05, ratio=1 / 3)
    assert row["power"] == pytest.approx(expected, rel=1e-6)


def test_llm_level_agrees_with_statsmodels():
    frame = simulated(3)
    rows = powers(frame)
    d = differences(frame)
    oracle = TTestPower()
    assert of(rows, "power", "llm")["power"] == pytest.approx(oracle.power(5 / d.std(), 8, 0.05), rel=1e-6)
    row = of(rows, "effect", "llm")
    assert row["effect"] == pytest.approx(oracle.solve_power(nobs=8, alpha=0.05, power=0.8) * d.std(), rel=1e-6)
    needed = oracle.solve_power(effect_size=5 / d.std(), alpha=0.05, power=0.8)
    assert of(rows, "needed_llms", "llm")["needed_llms"] == math.ceil(needed)
    low, high = stats.t.interval(0.95, 7, d.mean(), stats.sem(d))
    assert of(rows, "half_width", "llm")["half_width"] == pytest.approx((high - low) / 2, rel=1e-9)


def test_the_printed_power_analysis_of_document_a_follows_from_its_d():
    # section 3.2.6: d = 0.08 needs about 2,450 of each for 80 % power, and 2,000 of each find d = 0.15
    assert needed_per_group(0.08) == 2454
    assert t_test_power(0.15 * math.sqrt(2000 / 2), 3998) > 0.99
    # it prints about 70 % for 2,200 of each, which have 76 %
    assert t_test_power(0.08 * math.sqrt(2200 / 2), 4398) == pytest.approx(0.756, abs=0.001)


@given(st.floats(0.01, 3), st.floats(0.3, 0.99))
@settings(max_examples=30)
def test_needed_numbers_are_the_smallest_that_suffice(effect, wanted):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analysis.methods.power.POWER", wanted)
        of_each, n = needed_per_group(effect), needed_llms(effect, 1.0)
    assert TTestIndPower().power(effect, of_each, 0.05) >= wanted
    assert of_each == 2 or TTestIndPower().power(effect, of_each - 1, 0.05) < wanted
    assert TTestPower().power(effect, n, 0.05) >= wanted
    assert n == 5 or TTestPower().power(effect, n - 1, 0.05) < wanted
    n = needed_llms_for_half_width(effect, 1.0)
    assert stats.t.ppf(0.975, n - 1) / math.sqrt(n) <= effect
    assert n == 5 or stats.t.ppf(0.975, n - 2) / math.sqrt(n - 1) > effect


@pytest.mark.parametrize("df", [2, 9, 4398, 1e8])
def test_the_detectable_shift_has_80_percent_power(df):
    assert t_test_power(detectable_shift(df), df) == pytest.approx(0.8, abs=1e-9)


def test_power_without_an_effect_is_alpha_and_no_number_finds_it():
    assert t_test_power(0, 20) == pytest.approx(0.05, abs=1e-12)
    assert needed_per_group(0) is None
    assert needed_per_group(1e-12) is None


@given(st.floats(0.5, 20), st.floats(0, 50), st.floats(0.1, 50), st.integers(5, 40), st.integers(2, 60))
@settings(max_examples=30)
def test_needed_trials_reach_the_half_width_and_one_less_does_not(half_width, between, within, n_llms, n_trials):
    def half_with(n):
        return stats.t.ppf(0.975, n_llms - 1) * math.sqrt((between + within * n_trials / n) / n_llms)

    needed = needed_trials_for_half_width(half_width, between, within, n_llms, n_trials)
    if needed is None:
        assert half_with(1e15) >= half_width
    else:
        assert half_with(needed) <= half_width * (1 + 1e-9)
        assert needed == 2 or half_with(needed - 1) > half_width * (1 - 1e-9)


def test_the_variance_within_is_that_of_the_directions_own_trials():
    frame = simulated(4)
    row = of(powers(frame), "needed_trials", "llm", 5.0)
    rows = pd.concat([percents(frame, name) for name in ("sacd", "premortem")])
    variances = rows.groupby(["llm", "technique", "anchor_direction"])["response"].var()
    # each direction is half of a mean of 20 trials
    within = (variances / 10 / 4).groupby("llm").sum().mean()
    assert row["within_variance"] == pytest.approx(within, rel=1e-9)
    assert row["between_variance"] == pytest.approx(max(0, differences(frame).var() - within), rel=1e-9)


def test_what_llms_differ_by_cannot_be_asked_away():
    rows = powers(simulated(5, between=12.0))
    row = of(rows, "needed_trials", "llm", 2.0)
    assert row["reason"] == "not_reachable_with_trials"
    assert math.isnan(row["needed_trials"])
    assert of(rows, "needed_llms", "llm", 2.0)["needed_llms"] > 8


def test_costs_are_those_of_all_needed_trials_of_both_techniques_or_unknown():
    frame = simulated(6, between=0.5)
    known, unknown = powers(frame, COSTS), powers(frame)
    for quantity, level, target in (
        ("needed_trials", "trial", None),
        ("needed_llms", "llm", None),
        ("needed_llms", "llm", 2.0),
    ):
        row = of(known, quantity, level, target)
        n = row["needed_trials"] if level == "trial" else row["needed_llms"] * 20
        assert row["cost_usd"] == pytest.approx(n * (0.04 + 0.01))
        row = of(unknown, quantity, level, target)
        assert row["reason"] == "cost_unknown"
        assert math.isnan(row["cost_usd"])
    row = of(known, "needed_trials", "llm", 5.0)
    assert row["cost_usd"] == pytest.approx(row["needed_trials"] * 8 * 0.05)


@pytest.mark.parametrize(
    ("frame", "level", "reason"),
    [
        (simulated(1, n_llms=4), "llm", "too_few_llms"),
        (simulated(1, sd=0.0, between=0.0), "llm", "zero_variance"),
        (simulated(1, n_llms=1, n=1).query("anchor_direction != 'high'"), "trial", "one_trial"),
        (simulated(1, n_llms=1, sd=0.0, between=0.0).query("anchor_direction != 'high'"), "trial", "zero_variance"),
    ],
)
def test_what_the_data_cannot_support_is_null_with_its_reason(frame, level, reason):
    rows = powers(frame, COSTS)
    rows = rows[rows["level"] == level]
    assert (rows["reason"] == reason).all()
    for quantity in ("power", "effect", "needed_trials", "needed_llms"):
        assert rows.loc[(rows["quantity"] == quantity), quantity].isna().all()


def test_one_trial_of_each_leaves_the_variance_within_unknown():
    rows = powers(simulated(1, n=1))
    assert of(rows, "needed_trials", "llm", 5.0)["reason"] == "one_trial"
    assert math.isfinite(of(rows, "power", "llm")["power"])


def test_more_trials_of_the_same_answers_leave_the_variance_between_llms():
    frame = simulated(7)
    few, many = (of(powers(f), "needed_trials", "llm", 5.0) for f in (frame, frame.assign(n_trials=10**6)))
    assert many["within_variance"] < 1e-5 * few["within_variance"]
    assert many["between_variance"] == pytest.approx(few["between_variance"] + few["within_variance"], rel=1e-5)


def test_order_and_names_of_llms_change_nothing():
    frame = simulated(8)
    changed = frame.sample(frac=1, random_state=1).assign(llm=frame["llm"].str.replace("m", "x"))
    numbers = [name for name, kind in COLUMNS.items() if kind in ("double", "bigint")]
    left, right = (powers(f)[numbers].astype(float) for f in (frame, changed))
    np.testing.assert_allclose(left, right, rtol=1e-9)


def test_an_empty_warehouse_gives_an_empty_typed_table():
    assert list(powers(simulated(1).iloc[:0]).columns) == list(COLUMNS)
    assert powers(simulated(1).query("technique != 'premortem' or anchor_direction == 'none'")).empty


def test_an_llm_of_two_vignettes_has_half_the_variance_within_of_their_mean():
    frame = simulated(9)
    one, two = (
        of(powers(f), "needed_trials", "llm", 5.0) for f in (frame, pd.concat([frame, frame.assign(vignette="w")]))
    )
    assert two["within_variance"] == pytest.approx(one["within_variance"] / 2, rel=1e-9)
    assert two["n_trials"] == 2 * one["n_trials"]


def test_a_printed_effect_has_the_power_and_the_trials_that_statsmodels_gives_it():
    responses = pd.DataFrame(
        [
            ("s", "d", "v", llm, technique, direction, 1.0, "accepted", "recorded", response, n)
            for llm in "abcde"
            for technique, direction, response, n in [
                ("no_technique", "none", 10.0, 30),
                ("sacd", "low", 8.0, 20),
                ("sacd", "high", 12.0, 20),
                ("premortem", "low", 9.0, 30),
                ("premortem", "high", 12.0, 30),
            ]
        ],
        columns=[
            *("study", "domain", "vignette", "llm", "technique", "anchor_direction", "temperature"),
            *("row_set", "response_source", "response", "n_trials"),
        ],
    )
    techniques = pd.DataFrame({"technique": ["sacd", "premortem"], "is_ranked": True})
    costs = pd.DataFrame({"study": [], "llm": [], "technique": [], "cost_usd_per_trial": []})
    rows = power(
        responses, techniques, costs, margin_pp=5, published={("s", "d", frozenset(("sacd", "premortem"))): 0.2}
    )
    printed = {row["quantity"]: row for row in rows if row["design"] == "published"}
    oracle = TTestIndPower()
    assert printed["power"]["power"] == pytest.approx(oracle.power(0.2, 200, 0.05, ratio=1.5), rel=1e-6)
    assert printed["needed_trials"]["needed_trials"] == math.ceil(oracle.solve_power(0.2, power=0.8, alpha=0.05))
