"""The one rule by which bounds become a decision, and the units that they are bounds over."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.engine.rule import decide, in_points, one_sided, within_reach
from analysis.engine.vendors import vendor_means


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [(-4.9, 4.9, "equivalent"), (-5, 4, "no_evidence"), (0.1, 9, "use"), (-9, -0.1, "avoid"), (0.1, 4, "equivalent"),
     (0, 9, "no_evidence"), (np.nan, np.nan, "no_evidence")],
)  # fmt: skip
def test_what_bounds_of_a_gain_mean(low, high, decision):
    assert decide(low, high, margin=5) == decision


@pytest.mark.parametrize(
    ("low", "high", "root", "decision"),
    [
        # of 40: 35² and 45² are 375 less and 425 more
        (-424, 374, 40, "equivalent"),
        (-424, 376, 40, "no_evidence"),
        (-426, 374, 40, "no_evidence"),
        (1, 900, 40, "use"),
        (-900, -1, 40, "avoid"),
        (1, 374, 40, "equivalent"),
        # a control of 3 has no more than 3 to lose in points, however large the gain may be
        (-8, 24, 3, "equivalent"),
        (-8, 26, 3, "no_evidence"),
        (1, 26, 3, "use"),
        (-8, 24, 0, "equivalent"),
        (-26, 24, 0, "no_evidence"),
        # from twice the margin on points alone are asked: 10 to 5 are squares of 75 and more than 25
        (-8, 70, 10, "equivalent"),
        (-8, 70, 9.9, "no_evidence"),
    ],
)
def test_of_squares_points_are_asked_and_near_the_fold_the_squares_too(low, high, root, decision):
    assert decide(low, high, margin=5, root=root) == decision


@given(st.floats(0, 200), st.floats(-1e4, 1e4))
def test_a_gain_in_points_is_by_how_much_the_root_falls(root, gain):
    points = in_points(gain, root)
    assert points <= root, "at most all of it"
    assert np.sign(points) == np.sign(gain) or abs(points) < 1e-6 or root == 0
    if gain <= root**2:
        assert (root - points) ** 2 == pytest.approx(root**2 - gain, abs=1e-6)
    else:
        assert points == root


def test_points_by_hand_and_what_is_not_squared_stays_as_it_is():
    # from 39.2 to 22.8; never the root of the gain, which is 31.9
    assert in_points(39.2**2 - 22.8**2, 39.2) == pytest.approx(16.4)
    assert in_points(-(44.5**2 - 39.2**2), 39.2) == pytest.approx(-5.3)
    assert in_points(7.0, None) == 7.0


def test_vendors_weigh_the_same_whatever_their_llms():
    values = np.array([[1.0, np.nan], [3.0, 4.0], [10.0, np.nan]])
    found = vendor_means(values, ["Z", "Z", "A"])
    assert found == pytest.approx(np.array([[10, np.nan], [2, 4]]), nan_ok=True)


def test_comparisons_share_the_confidence():
    assert (one_sided(), one_sided(6), one_sided(0)) == (pytest.approx(0.025), pytest.approx(0.025 / 6), one_sided())


def test_no_bound_of_a_gain_is_so_low_that_the_loss_would_be_larger_than_it_can_be():
    row = {"loss_control": 0.8, "gain": 0.1, "gain_low": -2.3, "gain_plain_low": -0.1, "gain_squared_low": -9.0}
    cut = within_reach(row | {"gain_high": None}, 1.0)
    assert cut == pytest.approx(row | {"gain_low": -0.2, "gain_squared_low": -0.36, "gain_high": None})
    assert in_points(cut["gain_squared_low"], 0.8) == pytest.approx(cut["gain_low"])
    assert within_reach(row, np.inf) == row
