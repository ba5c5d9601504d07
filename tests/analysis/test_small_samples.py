"""Intervals over few LLMs: scipy, matrices and simulation as oracles, and the laws of scale and shift."""

import duckdb
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.methods.small_samples import (
    FEWEST_LLMS,
    cr2_interval,
    expanded_level,
    fieller_interval,
    share_interval,
    wilson_interval,
)
from bais.sql_functions import register

llms = st.lists(st.floats(-100, 100), min_size=FEWEST_LLMS, max_size=12)
weights = st.lists(st.floats(0.1, 10), min_size=12, max_size=12)
VALUES = np.array([63.6, 78.3, 91.6, 93.7, 101.2, 55.0, 88.8])
WEIGHTS = np.array([90.0, 118, 148, 95, 209, 15, 60])


def cr2_by_matrices(y, w):
    """CR2 and its df for an intercept, clusters of one (Pustejovsky & Tipton 2018, equations 6 and 11)."""
    x = np.ones((len(y), 1))
    bread = np.linalg.inv(x.T @ np.diag(w) @ x)
    residual_maker = np.eye(len(y)) - x @ bread @ x.T @ np.diag(w)
    residuals = residual_maker @ y
    meat, p = np.zeros((1, 1)), []
    for i in range(len(y)):
        adjustment = (residual_maker[i] @ residual_maker[i]) ** -0.5
        score = w[i] * adjustment * residuals[i] * x[i]
        meat += np.outer(score, score)
        p.append(residual_maker[i] * adjustment * w[i] * (x[i] @ bread).item())
    gram = np.array(p) @ np.array(p).T
    return (bread @ x.T @ (w * y)).item(), (bread @ meat @ bread).item(), np.trace(gram) ** 2 / (gram**2).sum()


def bounds(interval):
    return interval.low, interval.high


@settings(max_examples=30)
@given(llms, st.sampled_from([0.8, 0.95, 0.99]))
def test_equal_weights_give_students_t(values, confidence):
    assume(np.std(values) > 1e-6)
    expected = stats.ttest_1samp(values, 0).confidence_interval(confidence)
    found = cr2_interval(values, np.full(len(values), 7), confidence=confidence)
    assert bounds(found) == pytest.approx([expected.low, expected.high], rel=1e-9, abs=1e-9)
    assert (found.estimate, found.df) == (pytest.approx(np.mean(values), abs=1e-9), pytest.approx(len(values) - 1))
    assert cr2_interval(values, confidence=confidence) == cr2_interval(
        values, np.ones(len(values)), confidence=confidence
    )


@settings(max_examples=30)
@given(llms, weights)
def test_unequal_weights_give_cr2_as_matrices_do(values, w):
    assume(np.std(values) > 1e-3)
    estimate, variance, df = cr2_by_matrices(np.array(values), np.array(w[: len(values)]))
    half = stats.t.ppf(0.975, df) * np.sqrt(variance)
    found = cr2_interval(values, w[: len(values)])
    assert (found.estimate, *bounds(found), found.df) == pytest.approx(
        (estimate, estimate - half, estimate + half, df), rel=1e-9, abs=1e-9
    )


def test_variance_and_df_are_those_of_simulated_llms():
    h = WEIGHTS / WEIGHTS.sum()
    found = [cr2_interval(row, WEIGHTS) for row in np.random.default_rng(1).normal(size=(4000, len(WEIGHTS)))]
    variances = np.array([((one.high - one.low) / 2 / stats.t.ppf(0.975, one.df)) ** 2 for one in found])
    assert variances.mean() == pytest.approx(h @ h, rel=0.04)
    assert found[0].df == pytest.approx(2 * variances.mean() ** 2 / variances.var(), rel=0.12)
    assert np.mean([one.low < 0 < one.high for one in found]) >= 0.94


@settings(max_examples=30)
@given(st.floats(0.01, 100), st.floats(-1000, 1000), st.floats(0.01, 100))
def test_scale_and_shift_move_the_interval_with_the_values(scale, shift, unit_of_weight):
    plain = cr2_interval(VALUES, WEIGHTS)
    moved = cr2_interval(scale * VALUES + shift, unit_of_weight * WEIGHTS)
    assert (moved.estimate, *bounds(moved)) == pytest.approx(
        [scale * x + shift for x in (plain.estimate, *bounds(plain))], rel=1e-9, abs=1e-9
    )
    assert moved.df == pytest.approx(plain.df)


def test_an_llm_that_weighs_0_is_left_out():
    assert cr2_interval([*VALUES, np.nan], [*WEIGHTS, 0]) == cr2_interval(VALUES, WEIGHTS)


@pytest.mark.parametrize(
    ("values", "w", "estimate", "reason"),
    [
        ([], None, None, "no_llms"),
        ([1, 2], [0, 0], None, "no_llms"),
        ([1, 2, 3, 6], None, 3, "too_few_llms"),
        ([1, 2, 3, 6, 9], [1, 1, 1, 1, 0], 3, "too_few_llms"),
        ([4, 4, 4, 4, 4], [1, 2, 3, 4, 5], 4, "zero_variance"),
        ([0.1, 0.1, 0.1, 0.1, 0.1, 0.1], [1, 2, 3, 4, 5, 6], 0.1, "zero_variance"),
        ([8, 1, 1, 1, 1], [1, 1e-14, 1e-14, 1e-14, 1e-14], 8, "one_llm_dominates"),
    ],
)
def test_an_interval_that_data_cannot_support_says_why(values, w, estimate, reason):
    found = cr2_interval(values, w)
    assert (found.low, found.high, found.reason) == (None, None, reason)
    assert found.estimate == (None if estimate is None else pytest.approx(estimate))


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(-3, 3), st.sampled_from([-1, 1]))
def test_fieller_bounds_are_ratios_that_a_t_test_just_rejects(seed, ratio, sign):
    rng = np.random.default_rng(seed)
    b = sign * rng.normal(20, 6, size=8)
    a = ratio * b + rng.normal(0, 5, size=8)
    assume(stats.ttest_1samp(b, 0).pvalue < 0.04)
    found = fieller_interval(a, b)
    assert found.low < found.estimate < found.high
    assert found.estimate == pytest.approx(a.mean() / b.mean())
    assert [stats.ttest_1samp(a - r * b, 0).pvalue for r in bounds(found)] == pytest.approx([0.05, 0.05], rel=1e-6)
    assert stats.ttest_1samp(a - found.estimate * b, 0).pvalue == pytest.approx(1)


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_a_ratio_has_bounds_only_where_the_denominator_is_told_from_0(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(10, 3, size=6), rng.normal(4, 5, size=6)
    found = fieller_interval(a, b)
    is_established = stats.ttest_1samp(b, 0).pvalue < 0.05
    assert (found.reason, found.low is None) == (
        (None, False) if is_established else ("reference_not_established", True)
    )


def test_a_known_denominator_gives_students_t():
    expected = stats.ttest_1samp(VALUES / 4, 0).confidence_interval()
    assert bounds(fieller_interval(VALUES, np.full(len(VALUES), 4))) == pytest.approx([expected.low, expected.high])


@settings(max_examples=30)
@given(st.floats(0.01, 1000))
def test_change_of_units_leaves_a_ratio(scale):
    b = np.array([20.0, 31, 12, 25, 28, 40, 22])
    assert bounds(fieller_interval(scale * VALUES, scale * b)) == pytest.approx(bounds(fieller_interval(VALUES, b)))


@pytest.mark.parametrize(
    ("a", "b", "estimate", "reason"),
    [
        ([], [], None, "no_llms"),
        ([1, 2, 3, 4, 5], [-1, 1, 0, -2, 2], None, "no_spread_to_change"),
        ([1, 2, 3, 4], [1, 1, 1, 1], 2.5, "too_few_llms"),
        ([2, 2, 2, 2, 2], [4, 4, 4, 4, 4], 0.5, "zero_variance"),
        ([20.1, 31.7, 12.3, 25.9, 28.4], [20.1, 31.7, 12.3, 25.9, 28.4], 1, "zero_variance"),
        (0.3 * np.array([20.1, 31.7, 12.3, 25.9, 28.4]), [20.1, 31.7, 12.3, 25.9, 28.4], 0.3, "zero_variance"),
    ],
)
def test_a_ratio_that_data_cannot_bound_says_why(a, b, estimate, reason):
    found = fieller_interval(a, b)
    assert (found.low, found.high, found.reason) == (None, None, reason)
    assert found.estimate == (None if estimate is None else pytest.approx(estimate))


@pytest.mark.parametrize("alpha", [0.025, 0.05])
def test_expanded_levels_rise_to_the_level_with_the_number_of_llms(alpha):
    levels = [expanded_level(alpha, n) for n in (2, 5, 10, 20, 100, 10**6)]
    assert levels == sorted(levels)
    assert levels[-2] < alpha
    assert levels[-1] == pytest.approx(alpha, rel=1e-4)


def test_percentiles_at_the_expanded_level_are_as_wide_as_students_t():
    means = np.random.default_rng(3).choice(VALUES, size=(200_000, len(VALUES))).mean(axis=1)
    of_t = stats.ttest_1samp(VALUES, 0).confidence_interval()
    z = stats.norm.isf(expanded_level(0.025, len(VALUES)))
    assert 2 * z * means.std() == pytest.approx(of_t.high - of_t.low, rel=0.01)


@pytest.mark.parametrize(("k", "n"), [(0, 91), (1, 10), (45, 91), (90, 91), (91, 91), (1, 1)])
def test_an_exact_interval_of_a_share_is_scipys(k, n):
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    assert [float(bound) for bound in share_interval(k, n)] == pytest.approx([expected.low, expected.high], abs=1e-12)


def test_when_all_were_seen_the_lower_bound_has_a_closed_form():
    assert float(share_interval(91, 91)[0]) == pytest.approx(0.025 ** (1 / 91))


def test_wilsons_bounds_are_those_of_statsmodels():
    for k, n in ((0, 5), (1, 7), (3, 10), (9, 10), (4, 4), (500, 1000)):
        assert wilson_interval(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


def test_sql_calls_the_quantiles_of_scipy():
    with duckdb.connect() as connection:
        register(connection)
        row = connection.execute(
            "select t_quantile(0.975, 2.5), normal_quantile(0.1), share_low(3, 10), share_high(3, 10), "
            "share_low(0, 0), t_quantile(0.975, null)"
        ).fetchone()
    expected = (stats.t.ppf(0.975, 2.5), stats.norm.ppf(0.1), *proportion_confint(3, 10, method="wilson"))
    assert row[:4] == pytest.approx(expected, abs=1e-12)
    assert row[4:] == (None, None)
