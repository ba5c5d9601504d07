"""Log-probabilities of targets: sums done by hand, scipy and numpy as oracles, and the laws of the two values."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.papers.attribution import (
    TARGETS,
    banzhaf,
    block_flips_p,
    drawn_band,
    drawn_flips_p,
    exact_band,
    interval_over_questions,
    missing_mass,
    normalised,
    paired_t,
    sensitivity_score,
    shapley,
    soft_expectation,
    stars_of,
    weight_of,
    wilcoxon_pratt,
)

seeds = st.integers(0, 2**32 - 1)


def scores_of(seed, spread=2.0):
    return np.random.default_rng(seed).normal(-12, spread, len(TARGETS))


def games(seed, n_players=4, shape=()):
    return np.random.default_rng(seed).normal(size=(2**n_players, *shape))


def test_half_on_zero_and_half_on_a_hundred_expects_fifty():
    scores = np.full(101, -np.inf)
    scores[[0, 100]] = -7.0
    assert soft_expectation(scores) == pytest.approx(50)
    assert np.exp(normalised(scores))[[0, 50, 100]] == pytest.approx([0.5, 0, 0.5])


def test_what_lies_on_no_target_is_missing_and_more_than_all_is_no_probability():
    assert missing_mass(np.log([0.5, 0.3, 0.1])) == pytest.approx(0.1)
    assert missing_mass(np.log([0.5, 0.5])) == 0
    assert missing_mass(np.log([0.9, 0.9])) is None


@given(seeds, st.floats(-30, 30))
def test_a_constant_added_to_all_scores_changes_no_expectation(seed, constant):
    scores = scores_of(seed)
    assert soft_expectation(scores + constant) == pytest.approx(soft_expectation(scores), abs=1e-9)


@settings(max_examples=10)
@given(seeds, st.floats(0.1, 8))
def test_the_drawn_band_is_that_of_numpy_s_choice(seed, spread):
    scores = scores_of(seed, spread)
    p = np.exp(normalised(scores))
    means = np.random.default_rng(42).choice(TARGETS, (5000, 100), p=p / p.sum()).mean(axis=1)
    assert drawn_band(scores) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=1e-9)


def test_the_exact_band_of_a_coin_is_that_of_the_binomial_distribution():
    scores = np.full(101, -np.inf)
    scores[[0, 100]] = 0.0
    assert exact_band(scores) == pytest.approx(tuple(stats.binom.ppf([0.025, 0.975], 100, 0.5)))


@settings(max_examples=20)
@given(seeds, st.floats(0.1, 4))
def test_the_exact_band_is_what_the_drawn_one_estimates(seed, spread):
    scores = scores_of(seed, spread)
    assert exact_band(scores) == pytest.approx(drawn_band(scores), abs=0.6)


@given(seeds)
def test_the_paired_t_test_is_scipy_s(seed):
    low, high = scores_of(seed), scores_of(seed + 1)
    found = stats.ttest_rel(low, high)
    assert paired_t(low - high) == pytest.approx((found.statistic, found.pvalue), rel=1e-10)


@given(st.lists(st.integers(-4, 4), min_size=60, max_size=101))
def test_wilcoxon_with_ties_and_zeros_is_scipy_s(differences):
    assume(any(differences))
    found = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic")
    assert wilcoxon_pratt(differences) == pytest.approx((found.statistic, found.pvalue), rel=1e-9)


@settings(max_examples=10)
@given(seeds)
def test_random_flips_are_the_published_ones(seed):
    d = scores_of(seed) - scores_of(seed + 1)
    signs = np.random.default_rng(42).choice([-1, 1], size=(10_000, len(d)))
    n_as_far = (np.abs((signs * d).mean(axis=1)) >= abs(d.mean())).sum()
    assert drawn_flips_p(d) == (n_as_far + 1) / 10_001


def test_blocks_flip_whole_and_every_way():
    """Blocks sum to 3, 3 and 1: of the totals 7, 5, 1, 1 and their opposites two of eight are as far as 7."""
    assert block_flips_p([1, 2, 0, 3, 1], 2) == 2 / 8
    assert block_flips_p([1, -1, 2, -2, 0], 2) == 1


@settings(max_examples=25)
@given(seeds, st.integers(2, 5))
def test_blocks_of_one_are_the_enumerated_sign_flip_test(seed, n):
    d = np.random.default_rng(seed).normal(size=n)
    totals = [abs(np.dot(flips, d)) for flips in itertools.product((-1, 1), repeat=n)]
    as_far = [total >= abs(d.sum()) - 1e-9 for total in totals]
    assert block_flips_p(d, 1) == pytest.approx(np.mean(as_far))


@given(seeds, st.floats(0.01, 100), st.sampled_from([-1, 1]))
def test_a_change_of_unit_or_of_direction_changes_no_p_value(seed, scale, sign):
    d = scores_of(seed) - scores_of(seed + 1)
    for p_of in (lambda x: paired_t(x)[1], lambda x: wilcoxon_pratt(x)[1], lambda x: block_flips_p(x, 10)):
        assert p_of(sign * scale * d) == pytest.approx(p_of(d), rel=1e-9)


def test_differences_that_do_not_vary_have_no_test():
    zeros = np.zeros(101)
    values = [*paired_t(zeros), *paired_t(zeros + 0.1), *wilcoxon_pratt(zeros), drawn_flips_p(zeros)]
    assert np.isnan([*values, block_flips_p(zeros, 10)]).all()


def by_permutations(values, n):
    """Shapley's own definition: the mean over orders of what a player adds to those before it."""
    found = np.zeros(n)
    for order in itertools.permutations(range(n)):
        coalition = 0
        for player in order:
            found[player] += values[coalition | 1 << player] - values[coalition]
            coalition |= 1 << player
    return found / math.factorial(n)


@given(seeds, st.integers(1, 5))
def test_shapley_values_are_means_over_orders_and_add_up(seed, n):
    game = games(seed, n)
    assert shapley(game) == pytest.approx(by_permutations(game, n), abs=1e-12)
    assert shapley(game).sum() == pytest.approx(game[-1] - game[0], abs=1e-9)


@given(seeds)
def test_of_four_players_the_weights_are_a_quarter_a_twelfth_a_twelfth_and_a_quarter(seed):
    game = games(seed)
    weights = [1 / 4, 1 / 12, 1 / 12, 1 / 4]
    with_anchor = [(s, s | 8) for s in range(8)]
    expected = sum(weights[s.bit_count()] * (game[with_it] - game[s]) for s, with_it in with_anchor)
    assert shapley(game)[3] == pytest.approx(expected)
    assert banzhaf(game)[3] == pytest.approx(np.mean([game[with_it] - game[s] for s, with_it in with_anchor]))


def test_banzhaf_values_do_not_add_up():
    """Only all three together are worth 1: each adds it in one of four coalitions."""
    game = np.zeros(8)
    game[7] = 1
    assert banzhaf(game) == pytest.approx([1 / 4] * 3)
    assert shapley(game) == pytest.approx([1 / 3] * 3)


@given(seeds, st.permutations(range(4)))
def test_players_are_told_apart_by_their_worth_alone(seed, order):
    game = games(seed, shape=(3,))
    moved = [sum((coalition >> new & 1) << old for new, old in enumerate(order)) for coalition in range(16)]
    assert shapley(game[moved]) == pytest.approx(shapley(game)[list(order)])


def test_a_game_that_lacks_coalitions_is_refused():
    with pytest.raises(ValueError, match="got 15"):
        shapley(np.zeros(15))


def test_weights_and_stars_of_p_values():
    assert [weight_of(p) for p in (1, 0.1, 0.001, 0)] == pytest.approx([0, 1 / 3, 1, 1])
    assert [stars_of(p) for p in (0.0099, 0.01, 0.05, 0.1)] == ["***", "**", "*", ""]


def test_a_score_by_hand():
    """(20/100 · 1 - tanh .5 · 1/3) · (.5 + .5 · (1 + 0)/2) - .15, since the directions disagree."""
    found = sensitivity_score(20, -0.5, 0.001, 0.1, [0.001, 1])
    assert found["abss"] == pytest.approx(0.75 * (0.2 - math.tanh(0.5) / 3) - 0.15)
    assert found["concordance"] == -1
    assert sensitivity_score(20, -0.5, 0.001, 0.3, [0.001, 1])["concordance"] == 0  # -log10(.3) / 3 is below .2


def test_an_interval_over_questions_is_student_s():
    values = [15.0, 28.5, 12.6, 30.4, 34.7]
    found, low_high = interval_over_questions(values), stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert (found.low, found.high, found.df) == pytest.approx((*low_high, 4))
    assert [interval_over_questions(some).reason for some in ([], [1.0], [2.0, 2.0])] == [
        "no_questions", "one_question", "zero_variance",
    ]  # fmt: skip
