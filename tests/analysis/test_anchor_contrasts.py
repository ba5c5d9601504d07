"""Contrasts over questions and the trend over LLMs: sums done in the head, and what scipy and statsmodels say."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.papers.anchor_contrasts import contrasts, rank_correlation, trends

NAMED = {"study": "s", "evidence_from": "scores", "specification": "published"}
REGIMES = {"S": "standard", "D": "different_anchors"}


def values_of(llm, by_variation, scoring_set=None):
    return [
        NAMED
        | {
            "scoring_set": scoring_set or llm, "llm": llm, "variation": variation, "question": variation[:2],
            "anchor_regime": REGIMES.get(variation[3:]), "value": value,
            "reason": "missing_targets" if value is None else None,
        }
        for variation, value in by_variation.items()
    ]  # fmt: skip


def llms(values):
    return {(row["llm"], row["llm_b"]): row for row in contrasts(values) if row["comparison"] == "llms"}


def means(values):
    return {row["llm"]: row for row in contrasts(values) if row["comparison"] == "anchors"}


def regimes(values):
    return {row["llm"]: row for row in contrasts(values) if row["comparison"] == "regimes"}


# The first question differs by (1 + 3) / 2 = 2, the others by 4 and 6: 4 on average; the standard error is 2 / sqrt 3.
ONE = {"V1-S": 5.0, "V1-D": 8.0, "V2-S": 4.0, "V3-S": 9.0}
OTHER = {"V1-S": 4.0, "V1-D": 5.0, "V2-S": 0.0, "V3-S": 3.0}


def test_llms_differ_by_the_mean_over_questions_of_the_mean_of_their_variations():
    found = llms(values_of("a", ONE) + values_of("b", OTHER))
    row = found["a", "b"]
    half = 4.302653 * 2 / np.sqrt(3)
    assert [row["estimate"], row["low"], row["high"]] == pytest.approx([4, 4 - half, 4 + half], abs=1e-5)
    assert (row["n_questions"], row["df"], row["n_comparisons"], row["reason"]) == (3, 2, 1, None)
    assert [found["b", "a"][name] for name in ("estimate", "low", "high")] == pytest.approx(
        [-4, -4 - half, half - 4], abs=1e-5
    )


def test_only_variations_that_both_llms_have_are_compared():
    found = llms(
        values_of("a", ONE | {"V9-S": 100.0}) + values_of("b", {name: OTHER[name] for name in ("V1-S", "V2-S")})
    )
    assert found["a", "b"]["estimate"] == (1 + 4) / 2
    assert found["a", "b"]["n_questions"] == 2
    alone = llms(values_of("a", {"V1-S": 1.0}) + values_of("b", {"V2-S": 1.0}))["a", "b"]
    assert (alone["estimate"], alone["n_questions"], alone["reason"]) == (None, 0, "no_questions")


def test_a_value_that_is_missing_leaves_its_reason():
    row = llms(values_of("a", ONE) + values_of("b", OTHER | {"V2-S": None}))["a", "b"]
    assert (row["estimate"], row["low"], row["reason"]) == (None, None, "missing_targets")


def test_two_scorings_of_one_llm_are_no_pair_and_each_pairs_with_the_others():
    values = values_of("a", ONE) + values_of("a", OTHER, "again") + values_of("b", OTHER)
    rows = [row for row in contrasts(values) if row["comparison"] == "llms"]
    assert {(row["scoring_set"], row["scoring_set_b"]) for row in rows} == {
        ("a", "b"), ("b", "a"), ("again", "b"), ("b", "again"),
    }  # fmt: skip


def test_a_mean_is_over_questions_each_the_mean_of_its_variations():
    row = means(values_of("a", ONE))["a"]
    expected = stats.ttest_1samp([6.5, 4, 9], 0).confidence_interval()
    assert [row["estimate"], row["low"], row["high"]] == pytest.approx([6.5, *expected])
    assert (row["n_questions"], row["n_variations"], row["df"], row["llm_b"]) == (3, 4, 2, None)


def test_one_question_has_a_mean_and_no_interval():
    row = means(values_of("a", {"V1-S": 5.0, "V1-D": 8.0}))["a"]
    assert (row["estimate"], row["low"], row["reason"]) == (6.5, None, "one_question")


# The questions move by 3 and -5, and the third has one regime alone: -1 on average.
def test_regimes_differ_by_different_anchors_less_standard_ones_over_questions_that_have_both():
    row = regimes(values_of("a", ONE | {"V2-D": -1.0}) + values_of("b", {"V1-S": 1.0}))["a"]
    assert (row["estimate"], row["n_questions"], row["df"], row["n_comparisons"]) == (-1, 2, 1, 1)
    assert (row["llm_b"], row["scoring_set_b"]) == (None, None)


def test_without_a_question_under_both_regimes_there_is_no_contrast_of_them():
    assert regimes(values_of("a", {"V1-S": 1.0, "V2-D": 2.0, "tones": 3.0})) == {}


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=3, max_size=7))
def test_a_contrast_is_the_paired_t_interval_of_scipy(pairs):
    one, other = np.round(np.array(pairs).T, 3)
    named = [{f"V{i}-S": value for i, value in enumerate(of)} for of in (one, other)]
    row = llms(values_of("a", named[0]) + values_of("b", named[1]))["a", "b"]
    if np.ptp(one - other) < 1e-9:
        assert row["reason"] == "zero_variance"
        return
    expected = stats.ttest_1samp(one - other, 0).confidence_interval()
    assert [row["low"], row["high"]] == pytest.approx(list(expected), abs=1e-9)


def means_of(by_llm, reason=None):
    return [
        NAMED | {"scoring_set": llm, "llm": llm, "estimate": mean, "reason": reason} for llm, mean in by_llm.items()
    ]


SIZES = {"a": 1e8, "b": 1e9, "c": 1e10, "d": 3e10, "e": 5e10, "f": 7e10}


def test_the_slope_is_per_tenfold_parameters():
    (row,) = trends(means_of({"a": 1.0, "b": 3.0, "c": 4.0}), SIZES)
    assert row["slope"] == pytest.approx(1.5)
    # residuals -1/6, 1/3, -1/6: their squares add up to 1/6, and the standard error is sqrt(1/12)
    assert row["high"] == pytest.approx(1.5 + 12.706205 * np.sqrt(1 / 12), abs=1e-5)
    assert (row["n_llms"], row["n_llms_left_out"], row["df"]) == (3, 0, 1)


def test_the_trend_is_that_of_statsmodels():
    means = {"a": 1.0, "b": -3.0, "c": 4.0, "d": 2.5, "e": 7.0, "f": 0.3}
    (row,) = trends(means_of(means), SIZES)
    fit = sm.OLS(list(means.values()), sm.add_constant(np.log10([SIZES[llm] for llm in means]))).fit()
    assert row["slope"] == pytest.approx(fit.params[1])
    assert [row["low"], row["high"]] == pytest.approx(list(fit.conf_int()[1]))


def test_an_llm_of_unknown_size_is_left_out_and_two_are_too_few():
    (row,) = trends(means_of({"a": 1.0, "b": 3.0, "unknown": 9.0}), SIZES)
    assert (row["n_llms"], row["n_llms_left_out"], row["reason"]) == (2, 1, "too_few_llms")
    assert "slope" not in row
    (row,) = trends(means_of({"a": None, "b": None, "c": None}, "not_recoverable"), SIZES)
    assert (row["n_llms"], row["reason"]) == (0, "too_few_llms; not_recoverable")


@pytest.mark.parametrize(
    ("sets", "counted"),
    [
        ({"v/a@0f/v/a": 9.0, "recorded/a": 1.0, "v/a@chat-0a/v/a": 5.0}, 1.0),
        ({"v/a@chat-0a/v/a": 5.0, "v/a@ff/v/a": 2.0}, 2.0),
        ({"v/a@ff/v/a": 9.0, "v/a@0f/v/a": 2.0}, 2.0),
        ({"recorded/a": None, "v/a@ff/v/a": 2.0}, 2.0),
        ({"v/a@chat-0a/v/a": 5.0}, 5.0),
    ],
)
def test_of_an_llm_with_several_scorings_one_counts_the_recorded_before_the_plain_before_the_chat(sets, counted):
    others = {"b": 3.0, "c": 4.0}
    several = [
        NAMED | {"scoring_set": name, "llm": "a", "estimate": mean, "reason": "r"} for name, mean in sets.items()
    ]
    (row,) = trends(several + means_of(others), SIZES)
    (once,) = trends(means_of({"a": counted} | others), SIZES)
    assert row == once


def test_llms_of_one_size_have_no_trend():
    (row,) = trends(means_of({"a": 1.0, "b": 2.0, "c": 3.0}), dict.fromkeys("abc", 1e9))
    assert row["reason"] == "zero_variance"


def test_four_in_order_are_one_of_24_orders_or_its_reverse():
    found = rank_correlation([1, 2, 3, 4], [10, 20, 30, 40])
    assert found == {"rank_correlation": 1, "p_rank": pytest.approx(1 / 12), "least_p_rank": pytest.approx(1 / 12)}


@pytest.mark.parametrize("n", [3, 5, 6])
def test_the_rank_correlation_and_its_exact_p_are_those_of_scipy_ties_included(n):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n), rng.integers(0, 4, size=n)
    found = rank_correlation(x, y)
    assert found["rank_correlation"] == pytest.approx(stats.spearmanr(x, y).statistic)

    def statistic(order):
        return stats.spearmanr(order, y).statistic

    exact = stats.permutation_test((x,), statistic, permutation_type="pairings", n_resamples=np.inf)
    as_far = np.abs(exact.null_distribution) >= abs(exact.statistic) - 1e-9
    assert found["p_rank"] == pytest.approx(as_far.mean())


def test_more_than_nine_take_the_t_approximation_of_scipy():
    x, y = np.random.default_rng(2).normal(size=(2, 12))
    found, expected = rank_correlation(x, y), stats.spearmanr(x, y)
    assert [found["rank_correlation"], found["p_rank"]] == pytest.approx([expected.statistic, expected.pvalue])
    assert found["least_p_rank"] is None
    assert rank_correlation(range(12), range(12))["p_rank"] == 0
