"""What would settle an open decision: worked by hand, and plugged back in, where one fewer does not settle it."""

import math
from collections import namedtuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.engine.questions import questions_on_goals
from analysis.engine.rule import decide_from_gains
from analysis.engine.settling import Uncertainty, needed_llms, needed_more, to_settle_rows, uncertainty
from analysis.methods.crossed_effects import BALANCED, Arm, crossed_contrast
from analysis.methods.power import COLUMNS
from analysis.tables import table
from tests.tools.counts import NOTHING_STATED, counts_of

Gained = namedtuple("Gained", "values llms variances")
NAMES = ["llm", "technique", "anchor_direction", "response", "n_trials"]
CONTROLS = pd.DataFrame(
    [(None, None, None, "no_technique", "control")], columns=["study", "domain", "technique", "control", "comparison"]
)
COSTS = pd.DataFrame(
    [
        ("s", "m0", "sacd", 0.03, 900, 100),
        ("s", "m1", "sacd", 0.05, 900, 100),
        ("s", "m0", "no_technique", 0.01, 90, 9),
    ],
    columns=["study", "llm", "technique", "cost_usd_per_trial", "tokens_in_per_trial", "tokens_out_per_trial"],
)
PRICES = pd.DataFrame(
    [("a", 1.0, 5.0), ("b", 3.0, 15.0)], columns=["llm", "usd_per_million_tokens_in", "usd_per_million_tokens_out"]
)
OPTIONS = {"level": 0.025, "margin": 5.0}


def responses(gains, noise=0.0):
    """LLMs of baseline 100, off by 60 without a technique, 60 less the gain with SACD; four trials in a cell."""
    rows = []
    for n, gain in enumerate(gains):
        rows.append((f"m{n}", "no_technique", "none", 100, 30))
        for side, sign in (("low", -1), ("high", 1)):
            for technique, loss in (("no_technique", 60), ("sacd", 60 - gain)):
                rows += [(f"m{n}", technique, side, 100 + loss * sign + apart, 2) for apart in (-noise, noise)]
    frame = pd.DataFrame(rows, columns=NAMES).groupby(NAMES[:-1], as_index=False).sum()
    frame = frame.astype({"response": float, "n_trials": "int64"})
    common = {"study": "s", "domain": "d", "vignette": "v", "temperature": 1.0}
    return frame.assign(**common, row_set="accepted", response_source="recorded")


def found(frame, costs=COSTS, goal="displacement"):
    questions = questions_on_goals(counts_of(frame), NOTHING_STATED, margin=5.0, response_source="recorded")
    rows = table(to_settle_rows(questions, {"sacd"}, CONTROLS, costs, PRICES), COLUMNS).to_pylist()
    return {row["quantity"]: row for row in rows if row["goal"] == goal}


def with_moments(gain, variance, n):
    """Gains of n LLMs with exactly this mean and variance."""
    pattern = np.linspace(-1, 1, n)
    return gain + math.sqrt(variance) * pattern / pattern.std(ddof=1)


def decision(gain, variance, n_llms):
    return decide_from_gains(with_moments(gain, variance, n_llms), (gain, gain), **OPTIONS)[0]["decision"]


def llms(gain, deviation):
    return needed_llms(gain, Uncertainty(2, deviation**2, 0), **OPTIONS)


def trials(gain, between, within, n_llms, n_now):
    return needed_more(gain, Uncertainty(n_llms, between, within), n_now, **OPTIONS)


def test_by_hand_how_many_llms():
    # t(4) / sqrt(5) = 1.242, t(5) / sqrt(6) = 1.049, t(6) / sqrt(7) = 0.925: seven LLMs where the SD is the distance to
    # be cleared, which is the gain itself, or the margin less the gain where that is more
    assert llms(10, 10) == llms(-10, 10) == 7
    assert llms(1, 4) == 7
    assert llms(4, 4) == 7
    assert llms(10, 1) == 5


def test_by_hand_how_many_trials():
    # half-width below 10 at six LLMs: variance of the mean below (10 / 2.5706)² = 15.133, of a gain below 90.80; beside
    # 50 between LLMs that leaves 40.80, and 60 at ten trials is as much at 14.7
    assert trials(10, 50, 60, 6, 10) == 15
    assert trials(10, 91, 60, 6, 10) is None
    assert trials(10, 0, 60, 4, 10) is None


def test_by_hand_how_many_items():
    # over 8 LLMs and 20 items: 1 is of items alone, 3 of LLMs alone. A half-width below 5 at t(7) = 2.3646 is a
    # variance below 4.471; 3 of LLMs leave 1.471, and so much is left of 1 and 2 of both at 2.04 times the items
    now = Uncertainty(8, 0.0, 0.0, 20, over_llms=5.0, over_items=3.0, rest=2.0)
    assert needed_more(5, now, 20, **OPTIONS) == 41
    # with more LLMs 40 / n is left beside 1 of items: at 11 LLMs t(10) = 2.228 times 2.153 is 4.80, at ten 5.06
    assert needed_llms(5, now, **OPTIONS) == 11
    assert needed_llms(5, Uncertainty(8, 0.0, 0.0, 20, over_items=6.0), **OPTIONS) is None  # t(19) · 2.449


@pytest.mark.parametrize("is_balanced", [True, False])
def test_what_makes_a_mean_uncertain_plugged_back_is_the_interval_over_llms_and_items(is_balanced):
    values = np.random.default_rng(7).normal(4, 6, (6, 9)) + np.linspace(-8, 8, 9)
    has = np.ones(values.shape)
    if not is_balanced:
        has[0, 0] = 0
    mean = crossed_contrast(Arm(has, values * has))
    assert (mean.method == BALANCED) == is_balanced
    now = uncertainty(Gained(values.mean(axis=1), range(6), np.zeros(6)), mean)
    half = (mean.both.high - mean.both.low) / 2
    assert now.half_width(0.025) == pytest.approx(half)
    assert now.with_llms(6).half_width(0.025) == pytest.approx(half)
    assert now.with_more(1).half_width(0.025) == pytest.approx(half)
    # of endless LLMs only what items alone differ by is left, of endless items only what LLMs do
    parts = [level.standard_error**2 - mean.rest for level in (mean.over_items, mean.over_llms)]
    assert now.with_llms(10**9).over_items == pytest.approx(max(parts[0], 0), abs=1e-6)
    assert now.with_more(10**9).over_llms == pytest.approx(max(parts[1], 0), abs=1e-6)


def test_a_word_that_cannot_stand_settles_nothing():
    # from the margin less the gain, 1, up to the gain, 4, the interval says use, and narrower ones no difference
    now = Uncertainty(5, 0.0, 20.0)
    half = now.half_width(0.025)
    assert half == pytest.approx(2.7764 * 2, rel=1e-4)
    # no difference may not be said: half-widths from 1 to 4 are of use, first at 5 · (5.5529 / 4)² = 9.6 trials
    assert needed_more(4, now, 5, **OPTIONS, forbidden={"equivalent"}) == 10
    assert needed_more(4, now, 5, **OPTIONS) == 10
    # a gain of 1 is no difference before it is one: from a half-width of 4 on
    assert needed_more(1, now, 5, **OPTIONS) == 10
    assert needed_more(1, now, 5, **OPTIONS, forbidden={"equivalent"}) is None
    # a gain of 2.6 is told from none at 8 · (5.5529 / 2.6)² = 36.5 trials, and is no difference from 42.8 on
    assert needed_more(2.6, now, 8, **OPTIONS, forbidden={"equivalent"}) == 37
    assert needed_more(4, now, 5, **OPTIONS, forbidden={"use", "equivalent"}) is None
    assert needed_more(-4, now, 5, **OPTIONS, forbidden={"use", "equivalent"}) == 10


@settings(max_examples=60, deadline=None)
@given(st.floats(-30, 30), st.floats(0.5, 30))
def test_with_the_needed_llms_it_is_settled_and_with_one_fewer_not(gain, deviation):
    n = llms(gain, deviation)
    assume(n < 3000)
    assert decision(gain, deviation**2, n) != "no_evidence"
    assert n == 5 or decision(gain, deviation**2, n - 1) == "no_evidence"


@settings(max_examples=60, deadline=None)
@given(st.floats(-30, 30), st.floats(0, 200), st.floats(1, 400), st.integers(5, 30), st.integers(2, 90))
def test_with_the_needed_trials_it_is_settled_and_with_one_fewer_not(gain, between, within, n_llms, n_trials):
    assume(decision(gain, between + within, n_llms) == "no_evidence")
    n = trials(gain, between, within, n_llms, n_trials)
    assume(n is None or n < 10**6)
    if n is None:  # not with more trials than anybody has
        assert decision(gain, between + within * 1e-9, n_llms) == "no_evidence"
        return
    assert decision(gain, between + within * n_trials / n, n_llms) != "no_evidence"
    assert decision(gain, between + within * n_trials / (n - 1), n_llms) == "no_evidence"


def test_an_open_decision_has_both_ways_out_and_their_costs():
    gains = [22, -2, 20, 0, 10, 10]
    rows = found(responses(gains))
    row = rows["needed_llms"]
    n = llms(10, np.std(gains, ddof=1))
    assert (row["needed_llms"], row["settles"], row["design"], row["reason"]) == (n, "use", "to_settle", None)
    # each LLM has two directions of four trials with either technique; a trial is 0.04 of SACD and 0.01 without
    assert n > 6
    assert row["cost_usd"] == pytest.approx((n - 6) * 8 * 0.05)
    assert row["n_trials_per_cell"] == 4
    # trials that do not vary leave nothing uncertain: all of it is between LLMs
    assert (row["within_variance"], row["between_variance"]) == (0, pytest.approx(np.var(gains, ddof=1)))
    assert rows["needed_trials"]["reason"] == "not_reachable_with_trials"
    assert rows["needed_trials"]["needed_trials"] is None


def test_trials_settle_what_is_noise_of_trials():
    # the gains vary by 35.6, less than the trials of four cells leave uncertain: 4 · 1/4 · (12² · 4/3) / 4 = 48. The
    # mean of six may vary by (5 / 2.5706)², a gain by 22.70: 4 trials · 35.6 / 22.70 = 6.3
    row = found(responses([0, 10, -3, 13, 5, 5], noise=12))["needed_trials"]
    assert row["within_variance"] == pytest.approx(35.6)
    assert row["between_variance"] == 0
    assert (row["needed_trials"], row["settles"]) == (7, "use")
    assert row["cost_usd"] == pytest.approx((7 - 4) * 2 * 6 * 0.05)


def test_what_is_decided_has_no_row():
    assert found(responses([8, 9, 10, 10, 11, 12])) == {}


def test_two_llms_need_three_more_at_least_and_no_trials_help():
    rows = found(responses([9, 11]))
    assert rows["needed_llms"]["needed_llms"] == 5
    assert rows["needed_trials"]["reason"] == "not_reachable_with_trials"
    assert {row["reason"] for row in found(responses([9])).values()} == {"one_llm"}
    assert {row["reason"] for row in found(responses([9, 9, 9, 9, 9, 9])).values()} == {"zero_variance"}


def test_without_costs_the_tokens_of_other_studies_are_priced():
    elsewhere = COSTS.assign(study="t", llm="vendor/x")
    row = found(responses([9, 11]), elsewhere)["needed_llms"]
    # at 2 and 10 USD a million: 900 and 100 tokens of SACD, 90 and 9 without
    assert row["cost_usd"] == pytest.approx(3 * 8 * (2 * 990 + 10 * 109) / 1e6)
    for none in (elsewhere.iloc[:0], elsewhere.assign(llm="sim/x")):
        row = found(responses([9, 11]), none)["needed_llms"]
        assert (row["cost_usd"], row["reason"]) == (None, "cost_unknown")
