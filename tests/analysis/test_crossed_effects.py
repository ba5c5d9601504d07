"""Crossed LLMs and items: worked by hand, mean squares of statsmodels, and what nobody may change by a new order."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels

from analysis.engine.domain_losses import DomainLosses
from analysis.engine.rule import decide_over_vendors
from analysis.methods.crossed_effects import (
    BALANCED,
    UNBALANCED,
    Arm,
    SignedContrasts,
    crossed_contrast,
    mcnemar,
    paired_t,
    signed_bounds,
    signed_contrasts,
    spread_of_items,
)
from analysis.methods.crossed_reml import components, n_left
from analysis.methods.t_and_f_tests import holm
from tests.tools import crossed_coverage

# LLM means 3, 6; item means 2, 4.5, 7; overall 4.5; the rest is 1, -0.5, -0.5 in the first LLM and the negative in the
# second, so that MS_llm = 3 · 4.5 = 13.5, MS_item = 2 · 12.5 / 2 = 12.5, MS_rest = 2 · 1.5 / 2 = 1.5
VALUES = np.array([[1.5, 2.5, 5.0], [2.5, 6.5, 9.0]])


def one_trial(values):
    return Arm(np.where(np.isnan(values), 0, 1), np.nan_to_num(values), np.nan_to_num(values) ** 2)


def bounds(level):
    return level.low, level.high


def test_a_balanced_table_gives_the_variance_that_is_worked_out_by_hand():
    found = crossed_contrast(one_trial(VALUES))
    assert (found.estimate, found.method, found.n_llms, found.n_items, found.n_trials) == (4.5, BALANCED, 2, 3, 6)
    assert found.over_llms.standard_error**2 == pytest.approx(13.5 / 6)
    assert found.over_items.standard_error**2 == pytest.approx(12.5 / 6)
    assert found.both.standard_error**2 == pytest.approx((13.5 + 12.5 - 1.5) / 6)
    df = (13.5 + 12.5 - 1.5) ** 2 / (13.5**2 / 1 + 12.5**2 / 2 + 1.5**2 / 2)
    assert found.both.df == pytest.approx(df)
    half = stats.t.ppf(0.975, df) * np.sqrt(24.5 / 6)
    assert bounds(found.both) == pytest.approx((4.5 - half, 4.5 + half))
    assert found.both.p_value == pytest.approx(2 * stats.t.sf(4.5 / np.sqrt(24.5 / 6), df))


def test_mean_squares_are_those_of_statsmodels():
    values = np.random.default_rng(1).normal(size=(5, 8)) + np.arange(5)[:, None] + np.arange(8) / 2
    rows = pd.DataFrame([(i, j, values[i, j]) for i in range(5) for j in range(8)], columns=["llm", "item", "value"])
    anova = sm.stats.anova_lm(ols("value ~ C(llm) + C(item)", rows).fit())["mean_sq"]
    found = crossed_contrast(one_trial(values))
    expected = (anova["C(llm)"] + anova["C(item)"] - anova["Residual"]) / 40
    assert found.both.standard_error**2 == pytest.approx(expected)


@pytest.mark.parametrize("share_missing", [0.0, 0.2])
def test_the_spread_of_items_has_the_f_test_of_statsmodels_adjusted_for_llms(share_missing):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(5, 8)) + np.arange(5)[:, None] + np.arange(8) / 2
    values = np.where(rng.random(values.shape) < share_missing, np.nan, values)
    rows = pd.DataFrame([(i, j, values[i, j]) for i in range(5) for j in range(8)], columns=["llm", "item", "value"])
    anova = sm.stats.anova_lm(ols("value ~ C(llm) + C(item)", rows.dropna()).fit(), typ=2)
    found = spread_of_items(values)
    assert (found.statistic, found.p_value) == pytest.approx(tuple(anova.loc["C(item)", ["F", "PR(>F)"]]))
    squares = anova["sum_sq"] / anova["df"]
    per_item = len(rows.dropna()) / 8
    assert found.sd**2 == pytest.approx((squares["C(item)"] - squares["Residual"]) / per_item)


def test_the_spread_of_items_is_null_where_llms_or_items_or_noise_are_lacking():
    assert spread_of_items(VALUES[:1]).reason == "one_llm"
    assert spread_of_items(VALUES[:, :1]).reason == "one_item"
    assert spread_of_items([[1.0, np.nan], [np.nan, 2.0]]).reason == "too_few_cells"
    assert spread_of_items([[1.0, 2.0], [2.0, 3.0]]).reason == "zero_variance"
    alike = spread_of_items([[1.0, 1.1], [1.1, 1.0]])
    assert (alike.sd, alike.p_value) == (0.0, pytest.approx(1.0))


def test_items_that_all_llms_share_are_seldom_taken_for_what_a_technique_does():
    decided, over_llms = crossed_coverage.wrong_decisions(7, 24, np.random.default_rng(5), n_datasets=60)
    assert decided <= 10 < over_llms


def test_over_llms_and_over_items_are_students_t_of_their_means():
    values = np.random.default_rng(2).normal(1, size=(6, 9))
    found = crossed_contrast(one_trial(values))
    for level, axis in ((found.over_llms, 1), (found.over_items, 0)):
        expected = stats.ttest_1samp(values.mean(axis=axis), 0)
        assert bounds(level) == pytest.approx(tuple(expected.confidence_interval()))
        assert level.p_value == pytest.approx(expected.pvalue)


def test_without_a_difference_of_items_the_variance_is_that_over_llms():
    values = np.array([[1.0, 3.0], [6.0, 4.0], [8.0, 8.0]])
    found = crossed_contrast(one_trial(values))
    assert found.over_items.reason == "zero_variance"
    assert (found.both.standard_error, found.both.df) == (found.over_llms.standard_error, 2)


def table_of(share_missing, *, n_llms=6, n_items=9, seed=8, noise=(1.0, 0.7, 0.5)):
    rng = np.random.default_rng(seed)
    llms, items, cells = noise
    shape = n_llms, n_items
    values = 2 + llms * rng.normal(size=(n_llms, 1)) + items * rng.normal(size=n_items) + cells * rng.normal(size=shape)
    return np.where(rng.random(shape) < share_missing, np.nan, values)


def test_a_missing_cell_leaves_one_way_variances_and_the_most_likely_ones_over_both():
    values = table_of(0.15)
    has = ~np.isnan(values)
    found = crossed_contrast(one_trial(values))
    weights = has / has.sum(axis=1, keepdims=True) / len(values)
    assert (found.estimate, found.method) == (pytest.approx(np.nanmean(values, axis=1).mean()), UNBALANCED)
    scores = np.where(has, weights * (values - found.estimate), 0)
    assert found.over_llms.standard_error**2 == pytest.approx(6 / 5 * (scores.sum(axis=1) ** 2).sum())
    assert found.over_items.standard_error**2 == pytest.approx(9 / 8 * (scores.sum(axis=0) ** 2).sum())
    likely = components(values, has)
    slopes = [(weights.sum(axis=1) ** 2).sum(), (weights.sum(axis=0) ** 2).sum(), (weights**2).sum()]
    variance, df = likely.of_mean(slopes)
    assert (found.both.standard_error**2, found.both.df) == pytest.approx((variance, df))
    assert variance == pytest.approx(likely.variances @ slopes)
    # cells seen alike, so that the variances are those of the whole table and each is known a little less well
    assert 5 < df < 14


def test_the_most_likely_variances_are_those_of_statsmodels():
    values = table_of(0.2)
    rows = pd.DataFrame([(i, j, values[i, j]) for i in range(6) for j in range(9)], columns=["llm", "item", "value"])
    model = MixedLM.from_formula(
        "value ~ 1", rows.dropna(), groups=np.ones(len(rows.dropna())),
        vc_formula={"items": "0 + C(item)", "llms": "0 + C(llm)"},
    )  # fmt: skip
    fitted = model.fit(reml=True, method="lbfgs")
    expected = dict(zip(model.exog_vc.names, fitted.vcomp, strict=True))
    found = components(values, ~np.isnan(values)).variances
    assert found == pytest.approx([expected["llms"], expected["items"], fitted.scale], rel=1e-3)


@pytest.mark.parametrize("noise", [(1, 0.7, 0.5), (0.05, 1, 1), (1, 0.05, 1), (0.01, 0.01, 1)])
@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_the_information_is_that_of_matrices_of_all_cells(noise, share_missing):
    values = table_of(share_missing, noise=noise, seed=11)
    llm, item = np.nonzero(~np.isnan(values))
    found = components(values, ~np.isnan(values))
    parts = [(one[:, None] == one[None, :]).astype(float) for one in (llm, item, np.arange(len(llm)))]
    inverse = np.linalg.inv(np.tensordot(found.variances, parts, 1))
    left = inverse - np.outer(inverse.sum(axis=0), inverse.sum(axis=0)) / inverse.sum()
    information = [[np.trace(left @ one @ left @ other) / 2 for other in parts] for one in parts]
    np.testing.assert_allclose(found.information, information, rtol=1e-6, atol=1e-9)
    seen = left @ values[llm, item]
    slopes = np.array([seen @ part @ seen - np.trace(left @ part) for part in parts])
    # at the top of the likelihood it is flat, or falls where a variance is 0
    is_none = found.variances == 0
    np.testing.assert_allclose(slopes[~is_none] * found.variances[~is_none], 0, atol=1e-5)
    assert (slopes[is_none] <= 1e-6).all()


def test_of_a_whole_table_the_most_likely_variances_are_those_of_the_mean_squares():
    values = table_of(0.0)
    balanced, likely = crossed_contrast(one_trial(values)).both, components(values, np.ones(values.shape, bool))
    variance, df = likely.of_mean([1 / 6, 1 / 9, 1 / 54])
    assert (likely.variances > 0).all()
    assert (variance, df) == pytest.approx((balanced.standard_error**2, balanced.df))


def test_many_tables_at_once_are_each_of_them():
    tables = np.stack([table_of(0.0, seed=seed, noise=(seed / 9, 0.3, 1)) for seed in range(9)])
    has = ~np.isnan(table_of(0.2))
    together = components(tables, has)
    for place, values in enumerate(tables):
        alone = components(values, has)
        np.testing.assert_allclose(together.variances[place], alone.variances, atol=1e-6)


def test_llms_without_an_item_in_common_count_what_is_left_over_both():
    values = np.array([[1.0, 2.0, np.nan, np.nan], [np.nan, np.nan, 4.0, 6.0]])
    assert n_left(~np.isnan(values)) == 0
    found = crossed_contrast(one_trial(values))
    llms, items = found.over_llms.standard_error**2, found.over_items.standard_error**2
    assert (found.both.standard_error**2, found.both.df, found.rest) == (pytest.approx(llms + items), 1, 0)


def test_cells_are_left_where_llms_and_items_do_not_explain_all():
    assert [n_left(np.ones(shape, bool)) for shape in ((2, 2), (3, 5))] == [1, 8]
    has = np.ones((3, 5), bool)
    has[0, 1:], has[1:, 0] = False, False  # an LLM with an item of its own, and two with four that they share
    assert n_left(has) == 3


def test_values_that_llms_and_items_explain_entirely_leave_nothing_for_cells():
    values = np.add.outer([0.0, 1, 3, 4], [0.0, 2, 5, 6, 9])
    values[1, 2] = np.nan
    found = components(values, ~np.isnan(values)).variances
    assert found[:2] == pytest.approx([np.var([0, 1, 3, 4], ddof=1), np.var([0, 2, 5, 6, 9], ddof=1)], rel=1e-4)
    assert 0 < found[2] < 1e-6


def test_a_contrast_of_pairs_is_that_of_their_differences():
    rng = np.random.default_rng(3)
    a, b = rng.normal(2, size=(5, 7)), rng.normal(size=(5, 7))
    found, expected = crossed_contrast(one_trial(a), one_trial(b)), crossed_contrast(one_trial(a - b))
    assert bounds(found.both) == pytest.approx(bounds(expected.both))
    assert (found.estimate, found.both.df) == pytest.approx((expected.estimate, expected.both.df))
    assert found.n_trials == 70


def test_replicates_count_through_their_mean_alone():
    n = np.full(VALUES.shape, 4)
    assert crossed_contrast(Arm(n, 4 * VALUES)).both == crossed_contrast(one_trial(VALUES)).both
    n[0, 0] = 5
    found = crossed_contrast(Arm(n, n * VALUES))
    assert (found.method, found.both) == (BALANCED, crossed_contrast(one_trial(VALUES)).both)
    assert crossed_contrast(Arm(n, n * VALUES), weighting="trial").method == UNBALANCED


def test_a_weight_for_each_trial_gives_the_mean_of_all_trials():
    n = np.array([[1, 2, 3], [4, 5, 6]])
    found = crossed_contrast(Arm(n, n * VALUES), weighting="trial")
    assert found.estimate == pytest.approx((n * VALUES).sum() / 21)


def test_items_of_one_arm_each_add_their_variances():
    a, b = VALUES, np.array([[0.0, 2.0], [1.0, 5.0]])
    gap = np.full((2, 2), np.nan)
    found = crossed_contrast(
        one_trial(np.hstack([a, gap])), one_trial(np.hstack([np.full((2, 3), np.nan), b])), pairing="between"
    )
    assert (found.estimate, found.method, found.n_items) == (2.5, BALANCED, 5)
    # LLMs: 3 - 1 and 6 - 3; items: means 2, 4.5, 7 and 0.5, 3.5; the rest of b is 0.5, -0.5 and the negative
    llms, items = 0.5 / 2, 6.25 / 3 + 4.5 / 2
    assert found.over_llms.standard_error**2 == pytest.approx(llms)
    assert found.over_items.standard_error**2 == pytest.approx(items)
    assert items > llms + items - (1.5 / 6 + 1 / 4)
    assert (found.both.standard_error, found.both.df) == (found.over_items.standard_error, found.over_items.df)
    assert found.over_items.df == pytest.approx(items**2 / ((6.25 / 3) ** 2 / 2 + (4.5 / 2) ** 2))


def test_items_of_one_arm_each_with_cells_missing_are_near_the_whole_table():
    a, b = (table_of(0.0, n_items=12, seed=seed, noise=(1, 1, 0.5)) for seed in (1, 2))

    def contrast(a, b):
        gap = np.full(a.shape, np.nan)
        return crossed_contrast(one_trial(np.hstack([a, gap])), one_trial(np.hstack([gap, b])), pairing="between").both

    whole = contrast(a, b)
    a[0, 3] = np.nan
    found = contrast(a, b)
    assert (found.standard_error, found.df) == pytest.approx((whole.standard_error, whole.df), rel=0.05)
    assert found.df != pytest.approx(whole.df, rel=1e-6)


def test_items_of_one_arm_each_leave_the_noise_of_cells_counted_once():
    a, b = VALUES, 5 * np.array([[0.0, 2.0], [1.0, 3.0]]) * [[1], [3]]
    gap = np.full((2, 2), np.nan)
    found = crossed_contrast(
        one_trial(np.hstack([a, gap])), one_trial(np.hstack([np.full((2, 3), np.nan), b])), pairing="between"
    )
    # b is 0, 10 and 15, 45: LLM means 5 and 30, item means 7.5 and 27.5, the rest 5 and its negatives
    llms, items, rest = ((3 - 5) - (6 - 30)) ** 2 / 2 / 2, 6.25 / 3 + 200 / 2, 1.5 / 6 + 100 / 4
    assert found.both.standard_error**2 == pytest.approx(llms + items - rest)
    squares = llms**2 + (6.25 / 3) ** 2 / 2 + 100**2 + (1.5 / 6) ** 2 / 2 + 25**2
    assert found.both.df == pytest.approx((llms + items - rest) ** 2 / squares)


@pytest.mark.parametrize(
    ("values", "reasons"),
    [
        (VALUES[:1], ("one_llm", None, "one_llm")),
        (VALUES[:, :1], (None, "one_item", "one_item")),
        (np.ones((3, 4)), ("zero_variance",) * 3),
        (np.full((2, 2), np.nan), ("no_pair",) * 3),
    ],
)
def test_what_has_no_interval_says_why(values, reasons):
    found = crossed_contrast(one_trial(values))
    levels = (found.over_llms, found.over_items, found.both)
    assert tuple(level.reason for level in levels) == reasons
    for level in levels:
        is_null = [value is None for value in (level.low, level.high, level.df, level.standard_error, level.p_value)]
        assert set(is_null) == {level.reason is not None}


def test_llms_without_both_arms_do_not_enter():
    missing = VALUES.copy()
    missing[1] = np.nan
    for pairing in ("item", "between"):
        found = crossed_contrast(one_trial(VALUES), one_trial(missing), pairing=pairing)
        assert (found.n_llms, found.n_items, found.estimate, found.both.reason) == (1, 3, 0, "one_llm")


@pytest.mark.parametrize("wrong", [{"pairing": "vignette"}, {"weighting": "item"}])
def test_an_unknown_word_is_an_error(wrong):
    with pytest.raises(ValueError, match="need a pairing"):
        crossed_contrast(one_trial(VALUES), **wrong)


tables = st.tuples(st.integers(2, 5), st.integers(2, 6), st.booleans(), st.integers(0, 10**6))


def drawn(n_llms, n_items, has_gaps, seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 4, (n_llms, n_items)) if has_gaps else np.full((n_llms, n_items), 2)
    return n, np.round(rng.normal(2, 1, n.shape), 2)


@settings(max_examples=60, deadline=None)
@given(tables, st.sampled_from(["llm", "trial"]))
def test_a_new_order_of_llms_or_items_changes_nothing(table, weighting):
    n, values = drawn(*table)
    assume(n.any())
    rng = np.random.default_rng(4)
    rows, columns = rng.permutation(len(n)), rng.permutation(n.shape[1])
    found = crossed_contrast(Arm(n, n * values), weighting=weighting)
    moved = crossed_contrast(Arm(n[rows][:, columns], (n * values)[rows][:, columns]), weighting=weighting)
    assert moved.estimate == pytest.approx(found.estimate)
    for name in ("over_llms", "over_items", "both"):
        one, other = getattr(found, name), getattr(moved, name)
        assert one.reason == other.reason
        if one.reason is None:
            assert bounds(one) == pytest.approx(bounds(other), abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_over_both_is_never_surer_than_over_llms_or_over_items(table):
    n, values = drawn(*table)
    assume(n.any())
    found = crossed_contrast(Arm(n, n * values))
    if found.both.reason is None:
        alone = [level.standard_error for level in (found.over_llms, found.over_items) if level.reason is None]
        assert found.both.standard_error >= max(alone) * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(tables, st.floats(0.1, 100), st.floats(-50, 50))
def test_a_change_of_units_moves_the_interval_along(table, scale, shift):
    n, values = drawn(*table)
    assume(n.any())
    found = crossed_contrast(Arm(n, n * values)).both
    moved = crossed_contrast(Arm(n, n * (scale * values + shift))).both
    if found.reason is None and moved.reason is None:
        assert bounds(moved) == pytest.approx([scale * x + shift for x in bounds(found)], rel=1e-6, abs=1e-5)


@pytest.mark.parametrize(("share_missing", "least", "most"), [(0.0, 93, 97), (0.2, 93, 99)])
@pytest.mark.parametrize("n_llms", [5, 10])
def test_intervals_over_both_hold_the_truth_as_often_as_is_said(n_llms, share_missing, least, most):
    rng = np.random.default_rng(5)
    for name in ("both", "llms", "items"):
        noise = crossed_coverage.POPULATIONS[name]
        held = crossed_coverage.coverage(n_llms, 24, noise, share_missing, rng, n_datasets=2000)["both"]
        assert least - 1 <= held <= most + 0.5, name


@pytest.mark.parametrize(("name", "share_missing"), [*product(crossed_coverage.WIDEST, (0.02, 0.2))])
def test_intervals_with_cells_missing_are_not_much_wider_than_of_known_variances(name, share_missing):
    noise = crossed_coverage.POPULATIONS[name]
    found = crossed_coverage.coverage(7, 24, noise, share_missing, np.random.default_rng(9), n_datasets=2000)
    assert 93.3 <= found["both"] <= 99
    assert found["width"] <= crossed_coverage.WIDEST[name] + 0.01


def test_one_way_intervals_miss_where_the_other_way_varies():
    rng = np.random.default_rng(6)
    of_items, of_llms = (
        crossed_coverage.coverage(5, 24, crossed_coverage.Noise(*noise), 0.0, rng, n_datasets=1000)
        for noise in ((0, 1, 0.5), (1, 0, 0.5))
    )
    assert of_items["over_llms"] < 75
    assert of_llms["over_items"] < 60


def test_simulated_shares_of_yes_are_covered_too():
    held = crossed_coverage.coverage_of_shares(6, 50, np.random.default_rng(7), n_datasets=1500)["both"]
    assert 93 <= held <= 97


def test_a_paired_t_is_scipys_with_the_mean_over_the_deviation():
    differences = np.array([0.2, 0.5, -0.1, 0.4, np.nan, 0.3])
    seen = differences[~np.isnan(differences)]
    expected = stats.ttest_1samp(seen, 0)
    found = paired_t(differences)
    assert (found.n_pairs, found.df) == (5, 4)
    statistic = found.estimate / found.standard_error
    assert (statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert bounds(found) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.d_z == pytest.approx(seen.mean() / seen.std(ddof=1))
    for bound, tail in ((found.d_z_low, 0.025), (found.d_z_high, 0.975)):
        assert stats.nct.sf(statistic, 4, bound * np.sqrt(5)) == pytest.approx(tail, abs=1e-6)


@pytest.mark.parametrize(
    ("differences", "reason"), [([], "no_pair"), ([0.5, np.nan], "one_pair"), ([0.5, 0.5, 0.5], "zero_variance")]
)
def test_pairs_that_tell_nothing_give_no_test_and_say_why(differences, reason):
    found = paired_t(differences)
    assert (found.reason, found.p_value, found.d_z) == (reason, None, None)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_exact_mcnemar_test_is_that_of_statsmodels(only_a, only_b):
    assume(only_a + only_b)
    found = mcnemar(only_a, only_b)
    expected = mcnemar_of_statsmodels([[7, only_a], [only_b, 9]], exact=True).pvalue
    assert found.p_exact == pytest.approx(expected)
    assert found.p_mid == pytest.approx(expected - stats.binom.pmf(only_a, only_a + only_b, 0.5), abs=1e-9) or (
        only_a == only_b and found.p_mid == 1
    )


def test_mcnemar_by_hand():
    # 1 of 5: two tails of 6/32 each, and half of the 5/32 of the split itself off each
    assert mcnemar(1, 4) == type(mcnemar(1, 4))(1, 4, 12 / 32, 7 / 32)
    assert mcnemar(0, 0).reason == "no_discordant_pair"
    with pytest.raises(ValueError, match="need counts"):
        mcnemar(-1, 3)


def test_holm_by_hand_skips_what_was_not_tested():
    # in order 0.01 · 3, 0.03 · 2 and 0.04 · 1, which may not be less than the one before
    assert holm([0.01, 0.04, np.nan, 0.03]) == pytest.approx([0.03, 0.06, np.nan, 0.06], nan_ok=True)
    assert holm([0.01, 0.04, 0.03], 6) == pytest.approx([0.06, 0.16, 0.15])
    assert holm([0.6, 0.7]) == pytest.approx([1, 1])


def test_a_signed_contrast_of_pairs_has_the_variance_of_its_items():
    a, b = one_trial(np.array([[3.0, 5.0, 4.0]])), one_trial(np.array([[1.0, 1.0, 1.0]]))
    found = signed_contrasts(a, b)
    assert (found.signed[0], found.df[0], found.n[0]) == (3, 2, 6)
    assert found.variance[0] == pytest.approx(1 / 3)


def test_a_signed_contrast_of_one_item_has_the_variance_of_its_trials():
    # 8 of 10 and 5 of 10 yes: sums of squares 1.6 and 2.5, each over 9 · 10
    a, b = (Arm(np.array([[10]]), np.array([[k]]), np.array([[k]])) for k in (8, 5))
    for pairing in ("item", "between"):
        found = signed_contrasts(a, b, pairing=pairing)
        assert found.signed[0] == pytest.approx(0.3)
        assert found.variance[0] == pytest.approx((1.6 + 2.5) / 90)
        df = (1.6 + 2.5) ** 2 / (1.6**2 / 9 + 2.5**2 / 9)
        assert found.df[0] == pytest.approx(df)


def test_signed_contrasts_of_items_of_one_arm_each_add_their_variances():
    a, b = one_trial(np.array([1.0, 3.0, np.nan, np.nan])), one_trial(np.array([np.nan, np.nan, 0.0, 4.0]))
    found = signed_contrasts(a, b, pairing="between")
    assert (float(found.signed), float(found.variance)) == (0, pytest.approx(1 + 4))
    assert float(found.df) == pytest.approx(25 / 17)


def of_shares(yes, n=20):
    """Losses of two LLMs, one vignette, a control and a technique; `yes` by arm, LLM and technique."""
    arms = [Arm(np.full((2, 1, 2, 1), n), *[np.array(k, float).reshape(2, 1, 2, 1)] * 2) for k in yes]
    contrasts = signed_contrasts(*arms)
    return contrasts, DomainLosses.of_contrasts(["a", "b"], ["v"], ["none", "sacd"], "chose", contrasts)


def of_opposite_items(rng, biases, *, n_llms, n, baseline=0.5):
    """Losses of LLMs whose items have these biases under no technique and another: two arms, n trials a cell."""
    shape = (2, n_llms, len(biases[0]))
    halves = np.array(biases, float)[:, None] / 2
    yes = [rng.binomial(n, np.broadcast_to(baseline + sign * halves, shape)).astype(float) for sign in (1, -1)]
    contrasts = signed_contrasts(*(Arm(np.full(shape, n), k, k) for k in yes))
    of_one_vignette = SignedContrasts(*(np.moveaxis(values, 0, 1)[:, None] for values in vars(contrasts).values()))
    llms = [f"llm {place}" for place in range(n_llms)]
    losses = DomainLosses.of_contrasts(llms, ["v"], ["none", "role"], "chose", of_one_vignette)
    return losses.compared("chose", "role", "none")


def test_a_gain_is_by_how_much_the_bias_of_the_same_items_falls_although_these_go_opposite_ways():
    control, technique = [0.9, 0.9, 0.6], [0.7, -0.2, 0.1]  # means of 0.8 and 0.2
    rng, truth = np.random.default_rng(1), 0.8**2 - 0.2**2
    drawn = [of_opposite_items(rng, (control, technique), n_llms=7, n=30) for _ in range(500)]
    values = np.array([gains.values for gains in drawn])
    # the variance of the items of the technique, 0.07, over 3 would make it 0.068 more
    assert values.mean() == pytest.approx(truth, abs=4 * values.std() / np.sqrt(values.size))
    decided = [decide_over_vendors(gains, level=0.025, margin=0.0)[0] for gains in drawn]
    assert np.mean([row["gain"] for row in decided]) == pytest.approx(0.6, abs=0.01), "and never the whole bias"
    held = [row["gain_squared_low"] <= truth <= row["gain_squared_high"] for row in decided]
    assert 0.92 <= np.mean(held) <= 0.98
    of_llms = [(low <= truth) & (truth <= high) for low, high in (of.bounds_of_llms(level=0.025) for of in drawn)]
    assert np.mean(of_llms) >= 0.95, "an LLM's own interval is of other items too"


def test_the_noise_of_a_contrast_is_that_of_its_trials_and_not_known_where_each_item_was_put_once():
    a = Arm(np.array([[10, 10]]), np.array([[9, 6]]), np.array([[9, 6]]))
    of_arm = np.array([0.9 * 0.1, 0.6 * 0.4]) / 9
    once = one_trial(np.array([[1.0, 0.0]]))
    assert signed_contrasts(a, a).noise[0] == pytest.approx(2 * of_arm.sum() / 4)
    assert np.isnan(signed_contrasts(a, once).noise[0])
    # an answer that is alone varies as those to the other item do: 0.9 over 9 trials
    mixed = Arm(np.array([[10, 1]]), np.array([[9, 1]]), np.array([[9, 1]]))
    assert signed_contrasts(mixed, mixed).noise[0] == pytest.approx(2 * (0.01 + 0.1) / 4)


def test_a_technique_that_turns_a_bias_round_gains_nothing():
    contrasts, losses = of_shares([[[18, 2], [18, 10]], [[2, 18], [2, 10]]])
    assert contrasts.signed[:, 0] == pytest.approx(np.array([[0.8, -0.8], [0.8, 0]]))
    gains = losses.compared("chose", "sacd", "none")
    # squares less their noise, of shares of 0.9 and 0.1, and of 0.5 twice
    control = 0.8**2 - 2 * 0.09 / 19
    assert gains.control == pytest.approx([control, control])
    assert gains.values == pytest.approx([0, control + 2 * 0.25 / 19])
    assert list(gains.llms) == ["a", "b"]
    assert not any((gains.thin, gains.refused, gains.near_zero, gains.uncorrected))
    assert gains.n_trials == 160


def test_bounds_of_a_gain_on_contrasts_are_those_of_its_trials():
    _, losses = of_shares([[[18, 17], [18, 17]], [[2, 3], [2, 3]]])
    gains = losses.compared("chose", "sacd", "none", among=["a"])
    own = [2 * 0.9 * 0.1 / 19, 2 * 0.85 * 0.15 / 19]
    variance = sum(4 * (d**2 * c - c**2) + 2 * c**2 for d, c in zip((0.8, 0.7), own, strict=True))
    assert gains.variances == pytest.approx([variance])
    # two arms of equal variance have the degrees of freedom of both
    expected = stats.t.interval(0.95, 38, gains.values[0], np.sqrt(variance))
    assert np.ravel(gains.bounds_of_llms(level=0.025)) == pytest.approx(expected)


def test_llms_whose_bias_is_turned_into_a_larger_one_are_named_and_those_that_gain_are_not():
    # from 0.5 to -0.9, and from 0.8 to -0.8, which is no larger
    _, losses = of_shares([[[15, 1], [18, 2]], [[5, 19], [2, 18]]])
    gains = losses.compared("chose", "sacd", "none")
    assert list(gains.reversals(level=0.025, margin=0.05)) == [True, False]
    assert not gains.reversals(level=0.025, margin=0.81).any(), "0.9 is not surely larger"
    assert not gains.reversals(level=0.001, margin=0.05).any(), "nor than 0.5"
    _, losses = of_shares([[[1, 0], [1, 1]], [[0, 1], [0, 0]]], n=1)
    assert not losses.compared("chose", "sacd", "none").reversals(level=0.025, margin=0.05).any()


def test_bounds_of_a_contrast_put_what_is_missing_of_one_arm_at_one_end_and_of_the_other_at_the_other():
    # 3 to 3 of 4 less 1 to 2 of 4, and 0 to 2 of 2 less 1 of 1; the third item was asked in one arm alone
    arm, arm_b = Arm(np.array([4, 0, 4]), np.array([3.0, 0, 4])), Arm(np.array([3, 1, 0]), np.array([1.0, 1, 0]))
    asked, asked_b = np.array([4, 2, 4]), np.array([4, 1, 0])
    assert signed_bounds([arm, arm_b], [asked, asked_b], least=0, most=1) == pytest.approx((-0.375, 0.25))
    assert signed_bounds([arm, arm_b], [asked, asked_b]) == (-np.inf, np.inf)
    assert signed_bounds([arm, arm], [arm.n, arm.n]) == (0, 0)
    # with items of their own: (3/4 + 0 to 2/2 + 4/4) / 3 less (1/4 to 2/4 + 1/1) / 2
    found = signed_bounds([arm, arm_b], [asked, asked_b], pairing="between", least=0, most=1)
    assert found == pytest.approx((7 / 12 - 3 / 4, 11 / 12 - 5 / 8))
