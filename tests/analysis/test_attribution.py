"""Log-probabilities of targets: sums done by hand, scipy and numpy as oracles."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from analysis.papers.attribution import (
    TARGETS,
    block_flips_p,
    drawn_band,
    drawn_flips_p,
    exact_band,
    missing_mass,
    paired_t,
    sensitivity_score,
    soft_expectation,
    stars_of,
    weight_of,
    wilcoxon_pratt,
)

seeds = st.integers(0, 2**32 - 1)


def scores_of(seed, spread=2.0):
    return np.random.default_rng(seed).normal(-12, spread, len(TARGETS))


def test_half_on_zero_and_half_on_a_hundred_expects_fifty():
    scores = np.full(101, -np.inf)
    scores[[0, 100]] = -7.0
    assert soft_expectation(scores) == pytest.approx(50)


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
    p = special.softmax(scores)
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


def test_weights_and_stars_of_p_values():
    assert [weight_of(p) for p in (1, 0.1, 0.001, 0)] == pytest.approx([0, 1 / 3, 1, 1])
    assert [stars_of(p) for p in (0.0099, 0.01, 0.05, 0.1, np.nan)] == ["***", "**", "*", "", None]


def test_a_score_by_hand():
    """(20/100 · 1 - tanh .5 · 1/3) · (.5 + .5 · (1 + 0)/2) - .15, since the directions disagree."""
    found = sensitivity_score(20, -0.5, 0.001, 0.1, [0.001, 1])
    assert found["abss"] == pytest.approx(0.75 * (0.2 - math.tanh(0.5) / 3) - 0.15)
    assert found["concordance"] == -1
    assert sensitivity_score(20, -0.5, 0.001, 0.3, [0.001, 1])["concordance"] == 0  # -log10(.3) / 3 is below .2
