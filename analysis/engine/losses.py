"""How far an anchor moves the answers: the losses of each LLM and vignette, by what a paradigm names as goals.

Everything is in percent of the LLM's own baseline. Absolute values are taken of each LLM, vignette and contrast, and
averaged afterwards, so that an LLM that overshoots cannot make up for one that undershoots.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import yaml
from scipy import special

NONE = "none"
COMPATIBLE = 2.5  # standard errors within which a true value is taken to be possible
SAME = 1e-9  # as a share of what is compared: a smaller difference is rounding
STEP = 0.025  # standard errors between the true values at which the bias of a fold is worked out


@dataclass(frozen=True)
class Goal:
    """What a technique should make small, in percent of the baseline.

    Of `contrasts`, pairs of arms, it is the mean absolute difference of their means, where the arm `NONE` is the
    baseline itself; of `distance_of`, some arms, how far a single answer lies from the baseline, arms weighing the
    same.
    """

    contrasts: tuple[tuple[str, str], ...] = ()
    distance_of: tuple[str, ...] = ()

    @classmethod
    def stated(cls, goal, base):
        """Return a goal as a paradigm states it.

        Parameters
        ----------
        goal : dict
            With `contrasts`, a list of pairs of arms, or `distance_of`, a list of arms.
        base : str
            The arm that the goal is in percent of, which becomes `NONE`.

        Returns
        -------
        Goal
        """
        pairs = ([NONE if arm == base else arm for arm in pair] for pair in goal.get("contrasts") or ())
        return cls(tuple(map(tuple, pairs)), tuple(goal.get("distance_of") or ()))


with open(Path(__file__).resolve().parents[2] / "ingest/paradigms/anchoring.yaml", encoding="utf-8") as file:
    _ANCHORING = yaml.safe_load(file)
SIDES = tuple(arm for arm in _ANCHORING["arms"] if arm != _ANCHORING["relative_to"])
GOALS = {name: Goal.stated(goal, _ANCHORING["relative_to"]) for name, goal in _ANCHORING["goals"].items()}
LEADING = next(name for name, goal in _ANCHORING["goals"].items() if goal.get("leads"))
# what a paradigm states whose file is bais's own, for studies that name none
SHIPPED = {
    _ANCHORING["paradigm"]: (
        _ANCHORING["relative_to"],
        {name: {"goal": name} | goal for name, goal in _ANCHORING["goals"].items()},
    )
}


@dataclass(frozen=True)
class Moments:
    """What the losses need of conditions, each asked in several arms, such as a low and a high anchor.

    Of shape (..., n arms): `percent`, the mean percent of baseline; `variance`, of that mean from its own trials;
    `n`, the trials; `distance`, the mean of abs(percent of baseline - 100), with `distance_variance` from its own
    trials and `distance_slope`, how it changes with the logarithm of the baseline. Of shape (...): `baseline_variance`,
    of the logarithm of the mean baseline, and `n_baseline`. An arm that was not asked is NaN. `df`, of shape
    (..., n arms), are the degrees of freedom of the variances where they are not `n - 1`.
    """

    percent: np.ndarray
    variance: np.ndarray
    n: np.ndarray
    distance: np.ndarray
    distance_variance: np.ndarray
    distance_slope: np.ndarray
    baseline_variance: np.ndarray
    n_baseline: np.ndarray
    df: np.ndarray | None = None

    def __getitem__(self, key):
        """Return those of some conditions."""
        return Moments(*(None if values is None else values[key] for values in vars(self).values()))

    @property
    def degrees(self):
        """The degrees of freedom of the variances, of shape (..., n arms)."""
        return self.n - 1 if self.df is None else self.df


@dataclass(frozen=True)
class Loss:
    """Losses of conditions, each of shape (...).

    `loss` is as observed, `corrected` is less what noise adds to an absolute value; what the correction leaves lies
    between `bias_low` and `bias_high`. `variance` is what the condition's own trials leave uncertain in it, and
    `variance_per_df` the sum of the squares of its terms over their degrees of freedom. `slope` is how the loss changes
    with the logarithm of the baseline, which conditions of one LLM and vignette share. `is_corrected` is false where a
    standard error is 0 or not known.
    """

    loss: np.ndarray
    corrected: np.ndarray
    bias_low: np.ndarray
    bias_high: np.ndarray
    variance: np.ndarray
    variance_per_df: np.ndarray
    slope: np.ndarray
    is_corrected: np.ndarray


def folding_excess(value, error):
    """How much too large the absolute value of a normal estimate is, on average, if the truth is what was estimated.

    Parameters
    ----------
    value, error : array_like
        An estimate of any sign, and its standard error.

    Returns
    -------
    numpy.ndarray
        E abs(N(value, error²)) - abs(value); 0 where the error is 0 or not known. To subtract it is a plug-in: at a
        true value of 0 it leaves 59 % of the excess, at one to two standard errors it takes too much, and no unbiased
        estimator exists (docs/methodology.md shows what is left).

    References
    ----------
    Leone, Nelson & Nottingham (1961), The folded normal distribution, Technometrics 3(4), 543-550.
    """
    value, error = np.abs(np.asarray(value, float)), np.asarray(error, float)
    scale = np.where(error > 0, error, 1.0)
    shift = value / scale
    excess = scale * (np.sqrt(2 / np.pi) * np.exp(-(shift**2) / 2) - 2 * shift * special.ndtr(-shift))
    return np.where(error > 0, excess, 0.0)


def bias_bounds(value, error):
    """How far the corrected absolute value of a normal estimate can be off on average, given what was estimated.

    Parameters
    ----------
    value, error : array_like
        As of `folding_excess`.

    Returns
    -------
    tuple of numpy.ndarray
        The least and the most bias over all true values within `COMPATIBLE` standard errors of the estimate; 0 where
        the fold is farther away than that.

    References
    ----------
    Armstrong & Kolesár (2018), Optimal inference in a class of regression models, Econometrica 86(2), 655-683, for
    intervals that add the worst bias to the noise.
    """
    value, error = np.abs(np.asarray(value, float)), np.asarray(error, float)
    truths, least, most = _bias_of_standardised()
    shift = np.where(error > 0, value / np.where(error > 0, error, 1.0), np.inf)
    scale = np.where(error > 0, error, 0.0)
    return tuple(scale * np.interp(shift, truths, bound, right=0.0) for bound in (least, most))


@cache
def _bias_of_standardised():
    """Bounds of the bias by how many standard errors the estimate is from 0."""
    truths = np.arange(0, 10.01, STEP)
    noise = np.linspace(-8, 8, 3201)
    density = np.exp(-(noise**2) / 2)
    drawn = np.abs(truths[:, None] + noise)
    bias = (drawn - folding_excess(drawn, np.ones_like(drawn))) @ density / density.sum() - truths
    steps = np.arange(len(truths))
    near = np.abs(steps[:, None] - steps) <= round(
        COMPATIBLE / STEP
    )  # in whole steps, so that none is lost to rounding
    return truths, np.where(near, bias, np.inf).min(axis=1), np.where(near, bias, -np.inf).max(axis=1)


def losses(goal, moments, arms=SIDES):
    """Give the loss of conditions for a goal.

    Parameters
    ----------
    goal : Goal
    moments : Moments
    arms : tuple of str
        Of its last axis.

    Returns
    -------
    Loss
        In percentage points, and for `distance_of` in percent; NaN where an arm was not asked or there is no baseline.
        `variance` is that of the first order: an arm that several contrasts share enters with the sum of its signs.
    """
    if goal.distance_of:
        places = [arms.index(arm) for arm in goal.distance_of]
        shares = np.full(len(places), 1 / len(places))
        variances, df = moments.distance_variance[..., places], moments.degrees[..., places]
        variance, variance_per_df = _combined(variances, df, shares)
        loss, slope = (values[..., places].mean(axis=-1) for values in (moments.distance, moments.distance_slope))
        none = np.zeros(loss.shape)
        return Loss(loss, loss, none, none, variance, variance_per_df, slope, variance > 0)
    percent, own = by_arm(moments.percent, 100.0, arms), by_arm(moments.variance, 0.0, arms)
    falling = by_arm(moments.percent, 0.0, arms)  # what is in percent of the baseline falls as that rises
    signed = np.stack([percent[a] - percent[b] for a, b in goal.contrasts], axis=-1)
    errors = np.stack([own[a] + own[b] for a, b in goal.contrasts], axis=-1)
    slope = np.stack([falling[b] - falling[a] for a, b in goal.contrasts], axis=-1)
    entering = np.array([[(arm == a) - (arm == b) for arm in arms] for a, b in goal.contrasts])
    shares = np.where(signed < 0, -1.0, 1.0) @ entering / len(goal.contrasts)
    variance, variance_per_df = _combined(moments.variance, moments.degrees, shares)
    return folded(signed, errors, slope, moments.baseline_variance[..., None], variance, variance_per_df)


def by_arm(values, of_baseline, arms=SIDES):
    """Return values by the name of their arm.

    Parameters
    ----------
    values : numpy.ndarray, shape (..., n arms)
    of_baseline : float
        What they are in the base.
    arms : tuple of str

    Returns
    -------
    dict of str to numpy.ndarray, shape (...)
        The base is `NONE`.
    """
    return dict(zip(arms, np.moveaxis(values, -1, 0), strict=True)) | {NONE: np.full(values.shape[:-1], of_baseline)}


def _combined(variances, df, shares):
    """Variance of a weighted sum of arms, and the sum of the squares of its terms over their degrees of freedom."""
    terms = shares**2 * variances
    with np.errstate(divide="ignore", invalid="ignore"):
        return terms.sum(axis=-1), np.where(terms > 0, terms**2 / df, 0.0).sum(axis=-1)


def folded(signed, own, slope, shared, variance, variance_per_df):
    """Give the loss that is the mean of absolute values of signed estimates.

    Parameters
    ----------
    signed, own, slope : numpy.ndarray, shape (..., k)
        The estimates of a condition, the variance of each from its own trials, and how each changes with what it shares
        with other conditions: the logarithm of the baseline.
    shared : numpy.ndarray, shape (..., 1)
        The variance of that.
    variance, variance_per_df : numpy.ndarray, shape (...)
        As of `Loss`.

    Returns
    -------
    Loss
    """
    error = np.sqrt(own + slope**2 * shared)
    loss = np.abs(signed)
    sides = (loss, loss - folding_excess(signed, error), *bias_bounds(signed, error), np.sign(signed) * slope)
    loss, corrected, bias_low, bias_high, slope = (side.mean(axis=-1) for side in sides)
    return Loss(loss, corrected, bias_low, bias_high, variance, variance_per_df, slope, (error > 0).all(axis=-1))


def distance_bounds(low, high):
    """Return the least and the most distance from 0 between two bounds.

    Parameters
    ----------
    low, high : numpy.ndarray
        Of the same shape.

    Returns
    -------
    tuple of numpy.ndarray
    """
    return np.maximum(np.maximum(low, -high), 0), np.maximum(np.abs(low), np.abs(high))
