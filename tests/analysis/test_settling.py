"""What would settle an open decision: by hand, drawn, and plugged back in, where one fewer does not do."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import special

from analysis.engine.questions import questions_on_goals
from analysis.engine.rule import decide, in_points, no_difference, one_sided, t_bounds
from analysis.engine.settling import (
    POWERS,
    Uncertainty,
    Wanted,
    needed_llms,
    needed_more,
    needed_vendors,
    to_settle_rows,
    uncertainty,
)  # fmt: skip
from analysis.engine.vendors import vendor_means
from analysis.methods.crossed_effects import BALANCED, Arm, crossed_contrast
from analysis.methods.power import COLUMNS
from analysis.tables import table
from tests.tools.counts import NOTHING_STATED, counts_of

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


def found(frame, costs=COSTS, goal="displacement", vendors=None):
    questions = questions_on_goals(
        counts_of(frame), NOTHING_STATED, vendors or {}, margin=5.0, response_source="recorded"
    )
    rows = table(to_settle_rows(questions, {"sacd"}, CONTROLS, costs, PRICES), COLUMNS).to_pylist()
    return {(row["quantity"], row["power"]): row for row in rows if row["goal"] == goal}


def wanted(gain, power=0.5, **more):
    return Wanted(gain, **{"level": 0.025, "margin": 5.0} | more, power=power)


def vendors(gain, deviation, power=0.5):
    return needed_vendors(wanted(gain, power), Uncertainty(2, 1.0, deviation**2, 0.0, 0.0))


def gained(values, of, variances):
    """Gains of LLMs of these vendors."""
    of_each = {"values": np.array(values, float), "variances": np.array(variances, float), "vendors": list(of)}
    return SimpleNamespace(**of_each, by_vendor=lambda values: vendor_means(values, list(of)))


def power_of_t(shift, df, level):
    """The power of one side of Student's t test, by Boost's noncentral distribution."""
    return 1 - special.nctdtr(df, shift, special.stdtrit(df, 1 - level))


def test_by_hand_how_many_vendors():
    # t(4) / sqrt(5) = 1.242, t(5) / sqrt(6) = 1.049, t(6) / sqrt(7) = 0.925: seven vendors where the SD is the gain
    assert vendors(10, 10) == vendors(-10, 10) == 7
    assert vendors(10, 1) == 5
    # four times in five takes ten: a noncentral t(9) of 3.162 is beyond 2.262 with .803, one of t(8) and 3 is with .747
    assert power_of_t(math.sqrt(10), 9, 0.025) > 0.8 > power_of_t(math.sqrt(9), 8, 0.025)
    assert vendors(10, 10, 0.8) == 10


@settings(max_examples=30, deadline=None)
@given(st.floats(-30, 30), st.floats(0.5, 30), st.integers(2, 20), st.floats(0.001, 0.05))
def test_without_a_margin_the_chance_is_the_power_of_students_t_test(gain, deviation, n, level):
    assume(abs(gain) > 1e-6)
    of = wanted(gain, level=level, margin=0.0)
    (chance,) = of.chances(Uncertainty(n, 1.0, deviation**2, 0.0, 0.0)).values()
    shift = abs(gain) / deviation * math.sqrt(n)
    assert chance == pytest.approx(power_of_t(shift, n - 1, level), abs=3e-3)


@pytest.mark.parametrize(
    ("gain", "deviation", "root", "sizes"),
    [
        (15, 10, None, [2, 2, *[1] * 6]),
        (15, 10, None, [2] * 5),
        (-2, 3, None, [1] * 9),
        (2, 1.5, None, [1] * 9),
        (100, 200, 40, [2, 2, *[1] * 8]),
        (0, 10, 4, [1] * 10),
        (300, 200, 40, [3, 1, 1, 1, 1, 1]),
    ],
    ids=str,
)
def test_the_chance_is_how_often_the_rule_decides_so(gain, deviation, root, sizes):
    of, each = wanted(gain, level=one_sided(4), root=root), 1 / np.mean(1 / np.array(sizes))
    chances = of.chances(Uncertainty(len(sizes), each, 0.0, deviation**2, 0.0))
    drawn = np.random.default_rng(7).normal(gain, deviation, (sum(sizes), 4000))
    means = vendor_means(drawn, list(np.repeat(np.arange(len(sizes)), sizes)))
    words = [decide(*t_bounds(one, level=of.level), margin=5.0, root=root) for one in means.T]
    for word, chance in chances.items():
        assert chance == pytest.approx(words.count(word) / 4000, abs=0.03)


def test_ten_llms_of_eight_vendors_find_what_ten_of_five_do_not():
    # 15 pp where LLMs differ by 10, of a family of four, which ten LLMs of ten vendors would find most often
    chances = [
        wanted(15, level=one_sided(4)).chances(Uncertainty(n, each, 0.0, 100.0, 0.0))["use"]
        for n, each in ((5, 2.0), (8, 8 / 7), (10, 1.0))
    ]
    assert chances == pytest.approx([0.66, 0.84, 0.92], abs=0.01)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 100), st.floats(0.1, 30), st.none() | st.floats(0, 100))
def test_between_its_ends_there_is_no_difference(size, margin, root):
    ends = no_difference(margin, root)
    for end, sign in zip(ends, (-1, 1), strict=True):
        if root is None or root >= 2 * margin or sign < 0:
            assert in_points(end, root) == pytest.approx(sign * margin)
        step = 1e-6 * max(1.0, abs(end))
        assert decide(end - sign * step, end - sign * step, margin=margin, root=root) == "equivalent"
        assert decide(*(end + sign * step,) * 2, margin=margin, root=root) != "equivalent"


def test_by_hand_how_many_trials_and_how_many_llms_of_the_same_vendors():
    # half-width below 10 at six vendors: variance of the mean below (10 / 2.5706)² = 15.133, of a vendor below 90.80;
    # beside 50 between vendors that leaves 40.80, and 60 at ten trials is as much at 14.7
    now = Uncertainty(6, 1.0, 50.0, 0.0, 60.0)
    assert needed_more(wanted(10), now, 10) == 15
    # so do 60 at 1.47 LLMs of each vendor, which are 8.8, whether trials leave it uncertain or LLMs differ by it
    assert needed_llms(wanted(10), now, 6) == 9
    apart = replace(now, between_llms=60.0, within=0.0)
    assert needed_llms(wanted(10), apart, 6) == 9
    # of two LLMs each there are 30 now
    assert needed_llms(wanted(10), replace(apart, llms_per_vendor=2.0, between_vendors=70.0), 12) == 18
    assert needed_more(wanted(10), apart, 10) is None
    for of in (replace(now, between_vendors=91.0), replace(now, n_vendors=4, between_vendors=0.0)):
        assert needed_more(wanted(10), of, 10) is None
        assert needed_llms(wanted(10), of, of.n_vendors) is None


def test_by_hand_what_makes_a_mean_of_vendors_uncertain():
    # means 12, 2 and 20 vary by (2/3)² + (28/3)² + (26/3)² over 2, 81 1/3. Within a and b squares are 16 of two degrees
    # of freedom, of which trials are 4 · 1/2: 7 are of LLMs. Trials add 1/2, 1/2 and 1 to a mean: 2/3
    now = uncertainty(gained([10, 14, 0, 4, 20], "aabbc", [1, 1, 1, 1, 1]))
    assert (now.n_vendors, now.llms_per_vendor) == (3, pytest.approx(1.5))
    assert (now.within, now.between_llms) == (pytest.approx(1), pytest.approx(7))
    assert now.between_vendors == pytest.approx(244 / 3 - 8 / 1.5)
    assert now.variance == pytest.approx(244 / 9)
    # with three of one LLM each beside them the mean number is 6 / (2 / 1.5 + ...)
    assert now.with_vendors(6).llms_per_vendor == pytest.approx(6 / (2 + 3))
    assert now.with_vendors(6).variance == pytest.approx((now.between_vendors + 8 / 1.2) / 6)
    assert now.with_llms(2).variance == pytest.approx((now.between_vendors + 8 / 3) / 3)
    assert now.with_more(4).variance == pytest.approx((now.between_vendors + 7.25 / 1.5) / 3)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-50, 50), st.sampled_from("abcd"), st.floats(0, 900)), min_size=2, max_size=9))
def test_the_parts_of_a_variance_are_all_of_it_unless_llms_of_a_vendor_vary_by_more(llms):
    gains = gained(*zip(*llms, strict=True))
    by_vendor = gains.by_vendor(gains.values)
    assume(len(by_vendor) > 1)
    now = uncertainty(gains)
    observed = pytest.approx(by_vendor.var(ddof=1) / len(by_vendor), abs=1e-9)
    assert now.variance == observed or (now.between_vendors == 0 and now.variance > observed.expected)
    assert min(now.between_vendors, now.between_llms, now.within) >= -1e-9


def test_by_hand_how_many_items():
    # over 8 vendors and 20 items: 1 is of items alone, 3 of vendors alone. With 33 items the variance is 3 + 60 / 33 =
    # 4.818, of vendors 4.212, items 1.818, both 1.212, so that df is 4.818² / (4.212² / 7 + 1.818² / 32 + 1.212² / 224)
    # = 8.78; t(8.78) = 2.271 times 2.195 is 4.98, and with 32 items 5.01
    now = Uncertainty(8, 1.0, 24.0, 0.0, 16.0, 20, over_vendors=5.0, over_items=3.0, rest=2.0)
    use = wanted(5, margin=0.0)
    assert needed_more(use, now, 20) == 33
    # with more vendors 40 / n is left beside 1 of items: at ten t(11.6) = 2.187 times 2.236 is 4.89, at nine 5.18
    assert needed_vendors(use, now) == 10
    # half of the degrees of freedom, as where many cells are missing: t(5.8) times 2.236 is 5.52 at ten
    assert needed_vendors(use, replace(now, df_share=0.5)) == 12
    # with twice the LLMs of them as much is gone of both as of vendors, but not what items do
    more = replace(now, between_vendors=4.0, between_llms=20.0).with_llms(2)
    assert (more.over_vendors, more.over_items, more.rest) == (pytest.approx(22 / 8), 3.0, 2.0)
    for of_items in (
        needed_vendors(use, replace(now, over_items=9.0)),
        needed_llms(use, replace(now, over_items=9.0), 8),
    ):
        assert of_items is None


@pytest.mark.parametrize("is_balanced", [True, False])
def test_what_makes_a_mean_uncertain_plugged_back_is_the_interval_over_vendors_and_items(is_balanced):
    values = np.random.default_rng(7).normal(4, 6, (6, 9)) + np.linspace(-8, 8, 9)
    has = np.ones(values.shape)
    if not is_balanced:
        has[0, 0] = 0
    mean = crossed_contrast(Arm(has, values * has))
    assert (mean.method == BALANCED) == is_balanced
    now = uncertainty(gained(values.mean(axis=1), "abcdef", np.zeros(6)), mean)
    half = (mean.both.high - mean.both.low) / 2
    assert now.half_width(0.025) == pytest.approx(half)
    assert now.with_vendors(6).half_width(0.025) == pytest.approx(half)
    assert now.with_llms(1).half_width(0.025) == pytest.approx(half)
    assert now.with_more(1).half_width(0.025) == pytest.approx(half)
    # of endless vendors only what items alone differ by is left, of endless items only what vendors do
    parts = [level.standard_error**2 - mean.rest for level in (mean.over_items, mean.over_llms)]
    assert now.with_vendors(10**9).over_items == pytest.approx(max(parts[0], 0), abs=1e-6)
    assert now.with_more(10**9).over_vendors == pytest.approx(max(parts[1], 0), abs=1e-6)


def test_a_word_that_cannot_stand_settles_nothing():
    now, barred = Uncertainty(5, 1.0, 0.0, 0.0, 20.0), {"forbidden": ("equivalent",)}
    # a half-width of 5.5529 with 5 trials: first below 4 at 5 · (5.5529 / 4)² = 9.6
    assert needed_more(wanted(4), now, 5) == 10
    assert needed_more(wanted(4, **barred), now, 5) == 10
    # four times in five takes more where what lies within the margin by chance is taken back
    numbers = [needed_more(wanted(4, 0.8, **more), now, 5) for more in ({}, barred)]
    chances = [wanted(4).chances(now.with_more(n / 5))["use"] for n in (numbers[0], numbers[1] - 1, numbers[1])]
    assert max(chances[:2]) < 0.8 <= chances[2]
    assert needed_more(wanted(4, forbidden=("use", "equivalent")), now, 5) is None
    assert needed_more(wanted(-4, forbidden=("use", "equivalent")), now, 5) == 10
    # a gain of 1 is no difference before it is one: from a half-width of 4 on
    assert wanted(1, 0.0).word(now.with_more(2)) == "equivalent"
    assert needed_more(wanted(1, **barred), now, 5) is None


@settings(max_examples=40, deadline=None)
@given(st.floats(-30, 30), st.floats(0.5, 30), st.sampled_from(POWERS), st.none() | st.floats(0, 60))
def test_with_the_needed_vendors_it_is_settled_and_with_one_fewer_not(gain, deviation, power, root):
    of, now = wanted(gain, power, root=root), Uncertainty(3, 1.5, 0.5 * deviation**2, deviation**2, deviation**2)
    n = needed_vendors(of, now)
    assume(n is not None)
    assert of.word(now.with_vendors(n)) is not None
    assert n == 5 or of.word(now.with_vendors(n - 1)) is None


@settings(max_examples=40, deadline=None)
@given(st.floats(-30, 30), st.floats(0, 200), st.floats(1, 400), st.integers(5, 30), st.integers(2, 90))
def test_with_the_needed_trials_it_is_settled_and_with_one_fewer_not(gain, between, within, n_vendors, n_trials):
    of, now = wanted(gain, 0.8), Uncertainty(n_vendors, 1.0, between, 0.0, within)
    n = needed_more(of, now, n_trials)
    if n is None:
        assert of.word(now.with_more(1e9)) is None
        return
    assert of.word(now.with_more(n / n_trials)) is not None
    assert n == n_trials + 1 or of.word(now.with_more((n - 1) / n_trials)) is None


def test_an_open_decision_has_its_ways_out_and_their_costs():
    gains = np.array([22, -2, 20, 0, 10, 10])
    rows = found(responses(gains))
    assert {*rows} == {(name, power) for name in ("needed_vendors", "needed_llms", "needed_trials") for power in POWERS}
    # each LLM loses 60 without a technique, 60 less its gain with it: squares decide
    squared = 60**2 - (60.0 - gains) ** 2
    for power in POWERS:
        row = rows["needed_vendors", power]
        now = Uncertainty(6, 1.0, squared.var(ddof=1), 0.0, 0.0)
        n = needed_vendors(wanted(squared.mean(), power, root=60.0), now)
        assert (row["needed_vendors"], row["settles"], row["design"], row["reason"]) == (n, "use", "to_settle", None)
        # each LLM has two directions of four trials with either technique; a trial is 0.04 of SACD and 0.01 without
        assert n > 6
        assert row["cost_usd"] == pytest.approx((n - 6) * 8 * 0.05)
        half = special.stdtrit(n - 1, 0.975) * math.sqrt(squared.var(ddof=1) / n)
        assert row["half_width"] == pytest.approx(half)
        assert row["half_width"] < squared.mean()
    assert rows["needed_vendors", 0.8]["needed_vendors"] > rows["needed_vendors", 0.5]["needed_vendors"]
    row = rows["needed_trials", 0.5]
    assert (row["n_llms"], row["n_vendors"], row["level"], row["n_trials_per_cell"]) == (6, 6, "vendor", 4)
    # trials that do not vary leave nothing uncertain: all of it is between vendors
    assert (row["within_variance"], row["between_llms_variance"]) == (0, 0)
    assert row["between_vendors_variance"] == pytest.approx(squared.var(ddof=1))
    assert (row["reason"], row["needed_trials"]) == ("not_reachable_with_trials", None)
    assert rows["needed_llms", 0.5]["reason"] == "not_reachable_with_llms"


def test_llms_of_the_same_vendors_settle_what_these_differ_by_among_themselves():
    gains = np.array([40, -25, 38, -20, 12, -30, 35, -15, 45, -35])
    squared = 60**2 - (60.0 - gains) ** 2
    rows = found(responses(gains), vendors={f"m{n}": "abcde"[n // 2] for n in range(10)})
    # means of vendors vary by less than those of two such LLMs would, so that all ten tell what LLMs vary by
    assert 2 * squared.reshape(5, 2).mean(axis=1).var(ddof=1) < squared.reshape(5, 2).var(axis=1, ddof=1).mean()
    now = Uncertainty(5, 2.0, 0.0, squared.var(ddof=1), 0.0)
    for power in POWERS:
        row = rows["needed_llms", power]
        assert (row["n_vendors"], row["n_llms"], row["settles"]) == (5, 10, "avoid")
        assert row["between_vendors_variance"] == pytest.approx(0, abs=1e-6)
        assert row["between_llms_variance"] == pytest.approx(now.between_llms)
        n = needed_llms(wanted(squared.mean(), power, root=60.0), now, 10)
        assert row["needed_llms"] == n
        assert row["cost_usd"] == pytest.approx((n - 10) * 8 * 0.05)
        # one LLM of each of fewer new vendors does the same
        assert rows["needed_vendors", power]["needed_vendors"] < n


def test_trials_settle_what_is_noise_of_trials():
    # gains vary less than the trials of their cells leave uncertain, so that all of it goes with more of them: four
    # trials leave as much as vendors vary by, and the interval reaches 0 at the square of half-width over gain
    rows = found(responses([0, 10, -3, 13, 5, 5], noise=12))
    row = rows["needed_trials", 0.5]
    assert row["between_vendors_variance"] == row["between_llms_variance"] == 0
    squared = 60**2 - (60 - row["gain"]) ** 2
    n = 4 * (2.5706 * math.sqrt(row["within_variance"] / 6) / squared) ** 2
    assert (row["needed_trials"], row["settles"]) == (math.ceil(n), "use")
    assert row["cost_usd"] == pytest.approx((row["needed_trials"] - 4) * 2 * 6 * 0.05)
    assert rows["needed_trials", 0.8]["needed_trials"] > row["needed_trials"]


def test_where_an_llm_is_surely_beyond_the_margin_no_difference_settles_nothing():
    for noise, settles, reason in ((1, None, "llms_differ"), (90, "equivalent", None)):
        row = found(responses([1, -1, 2, -2, 14, -14], noise=noise))["needed_vendors", 0.8]
        assert (row["settles"], row["reason"]) == (settles, reason)


def test_what_is_decided_has_no_row():
    assert found(responses([8, 9, 10, 10, 11, 12])) == {}


def test_two_vendors_need_three_more_at_least_and_neither_llms_nor_trials_help():
    rows = found(responses([9, 11]))
    assert rows["needed_vendors", 0.5]["needed_vendors"] == 5
    assert rows["needed_trials", 0.5]["reason"] == "not_reachable_with_trials"
    assert rows["needed_llms", 0.5]["reason"] == "not_reachable_with_llms"
    of_one = found(responses([9, 11]), vendors={"m0": "a", "m1": "a"})
    assert {row["reason"] for row in of_one.values()} == {"one_vendor"}
    assert {row["reason"] for row in found(responses([9, 9, 9, 9, 9, 9])).values()} == {"zero_variance"}


def test_without_costs_the_tokens_of_other_studies_are_priced():
    elsewhere = COSTS.assign(study="t", llm="vendor/x")
    row = found(responses([9, 11]), elsewhere)["needed_vendors", 0.5]
    # at 2 and 10 USD a million: 900 and 100 tokens of SACD, 90 and 9 without
    assert row["cost_usd"] == pytest.approx(3 * 8 * (2 * 990 + 10 * 109) / 1e6)
    for none in (elsewhere.iloc[:0], elsewhere.assign(llm="sim/x")):
        row = found(responses([9, 11]), none)["needed_vendors", 0.5]
        assert (row["cost_usd"], row["reason"]) == (None, "cost_unknown")
