"""A gap that shrinks as all answers do is told apart from one that shrinks by itself."""

import math

import numpy as np
import pytest

from analysis.engine.level import gap_shrinks_with_level

HALVED = [math.log(0.5), math.log(0.48), math.log(0.55), math.log(0.5), math.log(0.47)]
UNCHANGED = [0.01, -0.02, 0.02, -0.01, 0.0]
NEARER = [0.4, 0.5, 0.45, 0.38, 0.52]


@pytest.mark.parametrize(
    ("log_ratio_gains", "log_levels", "is_so"),
    [
        (UNCHANGED, HALVED, True),
        ([-gain for gain in NEARER], HALVED, True),  # by a factor they are even farther apart
        (NEARER, HALVED, False),  # they come nearer to each other beside
        (UNCHANGED, UNCHANGED, False),  # the level did not surely fall
        (UNCHANGED, [-change for change in HALVED], False),  # it rose
        ([math.nan] * 5, HALVED, True),  # no logarithm is known, so that none is surely nearer
        ([*UNCHANGED, math.nan], [*HALVED, math.log(0.5)], True),
        (UNCHANGED, [-0.7] * 5, False),  # what does not vary is never sure
        ([0.5] * 5, HALVED, True),
        (UNCHANGED[:1], HALVED[:1], False),
    ],
)
def test_only_a_level_that_surely_fell_with_no_sure_gain_by_a_factor_is_told(log_ratio_gains, log_levels, is_so):
    assert gap_shrinks_with_level(log_ratio_gains, log_levels) is is_so


def test_halving_all_answers_is_told_whatever_they_were():
    rng = np.random.default_rng(37)
    low, high = np.exp(rng.normal(4, 0.3, (2, 2, 8)))
    low[1], high[1] = (of[0] * np.exp(rng.normal(math.log(0.5), 0.05, 8)) for of in (low, high))
    ratios = np.abs(np.log(high / low))
    levels = np.log((low + high)[1] / (low + high)[0])
    assert gap_shrinks_with_level(ratios[0] - ratios[1], levels)
    assert not gap_shrinks_with_level(ratios[0] - ratios[1], -levels)


def test_wider_intervals_are_less_sure():
    falls = [-0.3, -0.02, -0.25, -0.1, -0.3]
    assert gap_shrinks_with_level(UNCHANGED, falls)
    assert not gap_shrinks_with_level(UNCHANGED, falls, level=0.001)
