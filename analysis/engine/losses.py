"""How far an anchor moves the answers: the losses of each LLM and vignette, by what a paradigm names as goals.

Everything is in percent of the LLM's own baseline. Squares are taken of each LLM, vignette and contrast, less what
noise adds to them, and averaged afterwards, so that an LLM that overshoots cannot make up for one that undershoots.
"""

from dataclasses import dataclass

import numpy as np

from analysis.leading import shipped

NONE = "none"
SAME = 1e-9  # as a share of what is compared: a smaller difference is rounding


@dataclass(frozen=True)
class Goal:
    """What a technique should make small, in percent of the baseline.

    Of `contrasts`, pairs of arms, it is the mean absolute difference of their means, where the arm `NONE` is the
    baseline itself; of `distance_of`, some arms, how far a single answer lies from the baseline, arms weighing the
    same.
    """

    contrasts: tuple[tuple[str, str], ...] = ()
    distance_of: tuple[str, ...] = ()

    @property
    def power(self):
        """To which power of the loss the criterion is: contrasts are squared, distances are not."""
        return 1 if self.distance_of else 2

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


_ANCHORING = shipped()
SIDES = tuple(arm for arm in _ANCHORING["arms"] if arm != _ANCHORING["relative_to"])
GOALS = {name: Goal.stated(goal, _ANCHORING["relative_to"]) for name, goal in _ANCHORING["goals"].items()}
# what a paradigm states whose file is bais's own, for studies that name none
SHIPPED = {
    _ANCHORING["paradigm"]: (
        _ANCHORING["relative_to"],
        {name: {"goal": name, "cases": _ANCHORING["cases"]} | goal for name, goal in _ANCHORING["goals"].items()},
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

    `loss` is as observed: the mean of the absolute contrasts, or of the distances. `criterion` is what decisions are
    made of, which noise does not make larger on average: the mean of the squared contrasts less `noise`, what trials
    alone add to it; of a distance it is the distance itself. `error` is the variance of the contrasts, that of items in
    it where these are a sample, and `variance` what it leaves uncertain in the criterion, with `df` degrees of freedom,
    the fewest of its arms. `slope` is how the criterion
    changes with the logarithm of the baseline, which conditions of one LLM and vignette share. `is_corrected` is false
    where a variance is 0 or not known.
    """

    loss: np.ndarray
    criterion: np.ndarray
    noise: np.ndarray
    error: np.ndarray
    variance: np.ndarray
    df: np.ndarray
    slope: np.ndarray
    is_corrected: np.ndarray


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
    """
    if goal.distance_of:
        places = [arms.index(arm) for arm in goal.distance_of]
        loss, slope = (values[..., places].mean(axis=-1) for values in (moments.distance, moments.distance_slope))
        variance = moments.distance_variance[..., places].sum(axis=-1) / len(places) ** 2
        df = moments.degrees[..., places].min(axis=-1)
        none = np.zeros(loss.shape)
        return Loss(loss, loss, none, none, variance, df, slope, variance > 0)
    percent = by_arm(moments.percent, 100.0, arms)
    falling = by_arm(moments.percent, 0.0, arms)  # what is in percent of the baseline falls as that rises
    signed = np.stack([percent[a] - percent[b] for a, b in goal.contrasts], axis=-1)
    slope = np.stack([falling[b] - falling[a] for a, b in goal.contrasts], axis=-1)
    entering = np.array([[(arm == a) - (arm == b) for arm in arms] for a, b in goal.contrasts], float)
    used = np.flatnonzero(entering.any(axis=0))
    # arms enter several contrasts, whose errors are then correlated
    covariance = np.einsum("ka,la,...a->...kl", entering[:, used], entering[:, used], moments.variance[..., used])
    df = moments.degrees[..., used].min(axis=-1)
    return squares(signed, covariance, slope, moments.baseline_variance, df)


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


def squares(signed, covariance, slope, shared, df, noise=None):
    """Give the loss whose criterion is the mean square of signed estimates, less what noise adds to it.

    Parameters
    ----------
    signed, slope : numpy.ndarray, shape (..., k)
        The estimates of a condition, and how each changes with what it shares with other conditions: the logarithm of
        the baseline.
    covariance : numpy.ndarray, shape (..., k, k)
        Of the estimates from the condition's own trials.
    shared : numpy.ndarray, shape (...)
        The variance of what is shared.
    df : numpy.ndarray, shape (...)
        Degrees of freedom of the covariance.
    noise : numpy.ndarray, shape (...), optional
        What trials add to the mean square, where the covariance has more in it; by default all of the error.

    Returns
    -------
    Loss
        The variance of a mean of k squares is, of normal estimates, (4 d' C d + 2 tr C²) / k², where d' C d of the true
        contrasts is that of the estimates less tr C², and not below 0.

    References
    ----------
    Seber & Lee (2003), Linear Regression Analysis, theorems 1.5 and 1.6, for the mean and the variance of a quadratic
    form of normal variables.
    """
    k = signed.shape[-1]
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    error = own + slope**2 * shared[..., None]
    of_all = np.where(np.isnan(error), 0.0, error).mean(axis=-1)
    noise = of_all if noise is None else noise
    fourth = (covariance**2).sum(axis=(-2, -1))
    first = np.einsum("...k,...kl,...l->...", signed, covariance, signed)
    variance = (4 * np.maximum(first - fourth, 0.0) + 2 * fourth) / k**2
    is_corrected = (error > 0).all(axis=-1)
    of_shared = 2 * (signed * slope).mean(axis=-1)
    loss, criterion = np.abs(signed).mean(axis=-1), (signed**2).mean(axis=-1) - noise
    return Loss(loss, criterion, noise, of_all, variance, df, of_shared, is_corrected)


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
