"""How far an anchor moves the answers: three losses of each LLM and vignette, and what a technique gains on a control.

Everything is in percent of the LLM's own baseline. Absolute values are taken of each LLM, vignette and direction, and
averaged afterwards, so that an LLM that overshoots cannot make up for one that undershoots.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy import special

from analysis.counts import baseline_rows, selected
from analysis.small_samples import FEW_BASELINE, FEWEST_BASELINE

SIDES = ("low", "high")
NONE = "none"
COMPATIBLE = 2.5  # standard errors within which a true value is taken to be possible
STEP = 0.025  # standard errors between the true values at which the bias of a fold is worked out
SAME = 1e-9


@dataclass(frozen=True)
class Goal:
    """What a technique should make small, in percent of the baseline.

    Of `contrasts`, pairs of arms, it is the mean absolute difference of their means, where the arm `NONE` is the
    baseline itself; of `distance_of`, some arms, how far a single answer lies from the baseline, arms weighing the
    same.
    """

    contrasts: tuple[tuple[str, str], ...] = ()
    distance_of: tuple[str, ...] = ()


GOALS = {
    "displacement": Goal(contrasts=(("low", NONE), ("high", NONE))),
    "gap": Goal(contrasts=(("high", "low"),)),
    "error": Goal(distance_of=("low", "high")),
}


@dataclass(frozen=True)
class Moments:
    """What the losses need of conditions, each asked under a low and a high anchor.

    Of shape (..., 2), low first: `percent`, the mean percent of baseline; `variance`, of that mean from its own trials;
    `n`, the trials; `distance`, the mean of abs(percent of baseline - 100), with `distance_variance` from its own
    trials and `distance_slope`, how it changes with the logarithm of the baseline. Of shape (...): `baseline_variance`,
    of the logarithm of the mean baseline, and `n_baseline`. A direction that was not asked is NaN.
    """

    percent: np.ndarray
    variance: np.ndarray
    n: np.ndarray
    distance: np.ndarray
    distance_variance: np.ndarray
    distance_slope: np.ndarray
    baseline_variance: np.ndarray
    n_baseline: np.ndarray

    def __getitem__(self, key):
        """Return those of some conditions."""
        return Moments(*(getattr(self, name)[key] for name in self.__dataclass_fields__))


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
    known = np.where(error > 0, error, 1.0)
    shift = value / known
    excess = known * (np.sqrt(2 / np.pi) * np.exp(-(shift**2) / 2) - 2 * shift * special.ndtr(-shift))
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


def losses(goal, moments):
    """Give the loss of conditions for a goal.

    Parameters
    ----------
    goal : Goal
    moments : Moments

    Returns
    -------
    Loss
        In percentage points, and for `distance_of` in percent; NaN where an arm was not asked or there is no baseline.
        `variance` is that of the first order: an arm that several contrasts share enters with the sum of its signs.
    """
    if goal.distance_of:
        places = [SIDES.index(arm) for arm in goal.distance_of]
        shares = np.full(len(places), 1 / len(places))
        variance, variance_per_df = _combined(moments.distance_variance[..., places], moments.n[..., places], shares)
        loss, slope = (values[..., places].mean(axis=-1) for values in (moments.distance, moments.distance_slope))
        none = np.zeros(loss.shape)
        return Loss(loss, loss, none, none, variance, variance_per_df, slope, variance > 0)
    percent, own = _by_arm(moments.percent, 100.0), _by_arm(moments.variance, 0.0)
    falling = _by_arm(moments.percent, 0.0)  # what is in percent of the baseline falls as that rises
    signed = np.stack([percent[a] - percent[b] for a, b in goal.contrasts], axis=-1)
    errors = np.stack([own[a] + own[b] for a, b in goal.contrasts], axis=-1)
    slope = np.stack([falling[b] - falling[a] for a, b in goal.contrasts], axis=-1)
    entering = np.array([[(arm == a) - (arm == b) for arm in SIDES] for a, b in goal.contrasts])
    shares = np.where(signed < 0, -1.0, 1.0) @ entering / len(goal.contrasts)
    variance, variance_per_df = _combined(moments.variance, moments.n, shares)
    return folded(signed, errors, slope, moments.baseline_variance[..., None], variance, variance_per_df)


def _by_arm(values, of_baseline):
    """Return values whose last axis are arms by the name of the arm, with what they are of the baseline."""
    return dict(zip(SIDES, np.moveaxis(values, -1, 0), strict=True)) | {NONE: np.full(values.shape[:-1], of_baseline)}


def _combined(variances, n, shares):
    """Variance of a weighted sum of arms, and the sum of the squares of its terms over their degrees of freedom."""
    terms = shares**2 * variances
    with np.errstate(divide="ignore", invalid="ignore"):
        return terms.sum(axis=-1), np.where(terms > 0, terms**2 / (n - 1), 0.0).sum(axis=-1)


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


class DomainLosses:
    """Everything about one study and domain that its losses and gains are made of.

    Parameters
    ----------
    responses : pandas.DataFrame
        Rows of `marts.response_counts` of one study, domain and response source.
    row_set, baseline_scope : str
        As in `analysis.counts.compared`; the scope is not `matched`.
    missing : pandas.DataFrame, optional
        `llm, vignette, technique, anchor_direction, n_missing, valid_min, valid_max`: trials without an answer.

    Attributes
    ----------
    llms, vignettes, techniques : list of str
    moments : Moments
        Arrays of shape (n LLMs, n vignettes, n techniques, 2), without the last axis for what is of the baseline.
    knows_attrition : bool
        Whether `missing` was given.
    """

    def __init__(self, responses, *, row_set="accepted", baseline_scope="pooled", missing=None):
        rows = selected(responses, row_set=row_set)
        anchored = rows[rows["anchor_direction"].isin(SIDES)]
        unanchored = baseline_rows(rows, baseline_scope)
        self.llms, self.vignettes, self.techniques = (
            sorted(anchored[name].unique()) for name in ("llm", "vignette", "technique")
        )
        shape = (len(self.llms), len(self.vignettes))
        unanchored = unanchored[unanchored["llm"].isin(self.llms) & unanchored["vignette"].isin(self.vignettes)]
        place = self._places(unanchored, "llm", "vignette")
        n, baseline, variance = _means(place, shape, unanchored["response"], unanchored["n_trials"])
        baseline = np.where(baseline == 0, np.nan, baseline)
        self.n_baseline, self.baseline = n, baseline
        shape = (*shape, len(self.techniques), 2)
        place = self._places(anchored, "llm", "vignette", "technique", "anchor_direction")
        percent = 100 * anchored["response"].to_numpy(float) / np.broadcast_to(baseline[..., None, None], shape)[place]
        weights = anchored["n_trials"]
        n_trials, means, variances = _means(place, shape, percent, weights)
        _, distances, distance_variances = _means(place, shape, np.abs(percent - 100), weights)
        _, slopes, _ = _means(place, shape, -np.sign(percent - 100) * percent, weights)
        of_techniques = shape[:3]
        self.moments = Moments(
            means,
            variances,
            n_trials,
            distances,
            distance_variances,
            slopes,
            np.broadcast_to((variance / baseline**2)[..., None], of_techniques),
            np.broadcast_to(n[..., None], of_techniques),
        )
        self.knows_attrition = missing is not None
        self._missing = self._ranges(missing, shape) if self.knows_attrition else None
        self._known, self._incomplete, self._signed_bounds = {}, "missing_direction", None

    @classmethod
    def of_moments(cls, llms, vignettes, techniques, moments):
        """Return those of conditions whose moments are known, of shape (n LLMs, n vignettes, n techniques, 2)."""
        made = cls.__new__(cls)
        made.llms, made.vignettes, made.techniques, made.moments = llms, vignettes, techniques, moments
        made.n_baseline = moments.n_baseline[..., 0]
        made.knows_attrition, made._known, made._incomplete = False, {}, "missing_direction"
        made._signed_bounds = None
        return made

    @classmethod
    def of_contrasts(cls, llms, vignettes, techniques, goal, contrasts, bounds=None):
        """Return those of signed contrasts of arms, which have no baseline: the loss is their absolute value.

        Noise adds to an absolute value here as it does to that of an anchor, and is taken off in the same way.

        Parameters
        ----------
        llms, vignettes, techniques : list of str
        goal : str
            The name under which `of` and `compared` give the losses, such as that of a measure and contrast.
        contrasts : analysis.crossed_effects.SignedContrasts
            Of shape (n LLMs, n vignettes, n techniques); NaN where there is none. Where a contrast is to be close to
            some other value than 0, `signed` is the distance from that.
        bounds : tuple of numpy.ndarray, optional
            As of `analysis.crossed_effects.signed_bounds`: without them it is not known what answers are missing.
        """
        signed, variance = np.asarray(contrasts.signed, float), np.asarray(contrasts.variance, float)
        none, n_trials = np.zeros(signed.shape), np.asarray(contrasts.n, float)[..., None]
        per_df = np.where(variance > 0, variance**2 / np.where(variance > 0, contrasts.df, 1.0), 0.0)
        sides = signed[..., None], variance[..., None]
        not_known = np.full((*signed.shape, 1), np.nan)
        moments = Moments(*sides, n_trials, not_known, not_known, not_known, none, np.full(signed.shape, np.inf))
        made = cls.of_moments(llms, vignettes, techniques, moments)
        made._known = {goal: folded(*sides, none[..., None], none[..., None], variance, per_df)}
        made._incomplete = "missing_arm"
        made.knows_attrition, made._signed_bounds = bounds is not None, bounds
        return made

    def of(self, goal):
        """Return the losses for a goal, arrays of shape (n LLMs, n vignettes, n techniques)."""
        if goal not in self._known:
            self._known[goal] = losses(GOALS[goal], self.moments)
        return self._known[goal]

    def compared(self, goal, technique, control, *, among=None):
        """Return what a technique gains on a control, by LLM.

        Parameters
        ----------
        goal : {'displacement', 'gap', 'error'}
        technique, control : str
        among : collection of str, optional
            The LLMs that enter; all by default.

        Returns
        -------
        Gains
            Of the LLMs and vignettes that both have, with baselines of `FEWEST_BASELINE` answers and more.
        """
        return Gains(self, goal, technique, control, among)

    def has(self, *techniques):
        """Return where all of these techniques have a loss, shape (n LLMs, n vignettes)."""
        places = [self.techniques.index(name) for name in techniques]
        return ~np.isnan(self.moments.percent[..., places, :]).any(axis=(-1, -2))

    @property
    def near_zero(self):
        """Return where the 95 % interval of a baseline holds 0, shape (n LLMs, n vignettes)."""
        variance = (
            self.moments.baseline_variance[..., 0] if self.moments.percent.size else np.zeros(self.n_baseline.shape)
        )
        quantile = special.stdtrit(np.maximum(self.n_baseline - 1, 1), 0.975)
        return np.nan_to_num(variance) * quantile**2 >= 1

    def n_trials(self, technique):
        """Return the anchored trials of a technique by LLM, shape (n LLMs,)."""
        return self.moments.n[:, :, self.techniques.index(technique)].sum(axis=(1, 2)).astype(int)

    def why_not(self, technique):
        """Return why a technique has no loss anywhere: `missing_direction`, `no_baseline`, or None where it has one.

        Of contrasts, it is `missing_arm`.
        """
        asked = (self.moments.n[:, :, self.techniques.index(technique)] > 0).all(axis=-1)
        if self.has(technique).any():
            return None
        return "no_baseline" if asked.any() else self._incomplete

    def _places(self, rows, *keys):
        known = {"llm": self.llms, "vignette": self.vignettes, "technique": self.techniques, "anchor_direction": SIDES}
        return tuple(pd.Categorical(rows[key], known[key]).codes.astype(np.int64) for key in keys)

    def _ranges(self, missing, shape):
        """Number of trials without an answer, and the least and most percent that each could have been."""
        known = missing["llm"].isin(self.llms) & missing["vignette"].isin(self.vignettes)
        rows = missing[known & missing["technique"].isin(self.techniques) & missing["anchor_direction"].isin(SIDES)]
        n, least, most = np.zeros(shape), np.full(shape, -np.inf), np.full(shape, np.inf)
        place = self._places(rows, "llm", "vignette", "technique", "anchor_direction")
        n[place] = rows["n_missing"]
        baseline = np.broadcast_to(self.baseline[..., None, None], shape)[place]
        ends = (("valid_min", -np.inf), ("valid_max", np.inf))
        ends = [100 * rows[name].astype(float).fillna(of).to_numpy() / baseline for name, of in ends]
        least[place], most[place] = np.sort(ends, axis=0)
        return n, least, most

    def attrition_bounds(self, goal):
        """Return the least and most loss, had everybody answered, arrays as of `of`."""
        if self._signed_bounds is not None:
            return _distances(*self._signed_bounds)
        n, lowest, highest = self._missing
        of = self.moments
        share = n / np.maximum(of.n + n, 1)

        def mixed(answered, missed):
            return np.where(share > 0, (1 - share) * answered + share * np.where(share > 0, missed, 0.0), answered)

        if arms := GOALS[goal].distance_of:
            places = [SIDES.index(arm) for arm in arms]
            nearest, farthest = _distances(lowest - 100, highest - 100)
            ends = mixed(of.distance, nearest), mixed(of.distance, farthest)
            return tuple(end[..., places].mean(axis=-1) for end in ends)
        low, high = (_by_arm(mixed(of.percent, end), 100.0) for end in (lowest, highest))
        ends = [_distances(low[a] - high[b], high[a] - low[b]) for a, b in GOALS[goal].contrasts]
        return tuple(np.mean(bounds, axis=0) for bounds in zip(*ends, strict=True))


class Gains:
    """What a technique gains on a control in each LLM; arrays of shape (n LLMs,), in the order of `llms`.

    Attributes
    ----------
    llms : list of str
        Those with both, in at least one vignette whose baseline is of enough answers.
    values : numpy.ndarray
        Corrected loss of the control less that of the technique, in the unit of the goal; 0 up to rounding is 0.
    loss, loss_control : numpy.ndarray
        As observed.
    variances : numpy.ndarray
        What the trials of the three samples leave uncertain in `values`; 0 where it is not known.
    n_trials : int
        Trials of the technique and of the control that enter.
    refused, near_zero, thin : bool
        Whether an LLM or vignette is left out for too few baseline answers, or for a baseline that these do not tell
        from 0, of which there is no percentage (Fieller 1954); and whether one that enters has few.
    uncorrected : bool
        Whether a loss that enters could not be corrected.
    knows_attrition : bool
        Whether it is known how many trials were not answered.
    """

    def __init__(self, domain, goal, technique, control, among=None):
        self.goal = goal
        self.knows_attrition = domain.knows_attrition
        self._domain = domain
        self._k, self._c = (domain.techniques.index(name) for name in (technique, control))
        of = domain.of(goal)
        has_both = ~np.isnan(of.loss[..., self._k]) & ~np.isnan(of.loss[..., self._c])
        if among is not None:
            has_both &= np.isin(domain.llms, list(among))[:, None]
        enough = domain.n_baseline >= FEWEST_BASELINE
        self.refused = bool((has_both & ~enough).any())
        self.near_zero = bool((has_both & enough & domain.near_zero).any())
        self.used = has_both & enough & ~domain.near_zero
        self.thin = bool((self.used & (domain.n_baseline < FEW_BASELINE)).any())
        self._rows = np.flatnonzero(self.used.any(axis=1))
        self.llms = [domain.llms[row] for row in self._rows]
        self.weights = (self.used / np.maximum(self.used.sum(axis=1, keepdims=True), 1))[self._rows]
        self.loss, self.loss_control = self._mean(of.loss[..., self._k]), self._mean(of.loss[..., self._c])
        values = self._mean(of.corrected[..., self._c]) - self._mean(of.corrected[..., self._k])
        # what is no more than rounding would be a gain of either sign, and a probability of it that nothing explains
        self.values = np.where(np.abs(values) <= SAME * np.maximum(self.loss, self.loss_control), 0.0, values)
        self.uncorrected = bool((self.used & ~(of.is_corrected[..., self._k] & of.is_corrected[..., self._c])).any())
        self.variances = self.covariances(self)
        of_both = domain.moments.n[self.used][:, list({self._k, self._c})]
        self.n_trials = int(np.nansum(of_both))

    def covariances(self, other):
        """Return the sampling covariances of the gains with those of another technique in the same LLMs.

        Two techniques share the baselines, and the control's trials where it is the same one.

        Parameters
        ----------
        other : Gains
            Of the same domain and goal.

        Returns
        -------
        numpy.ndarray, shape (n LLMs of this one,)
            0 where the other does not have the LLM.
        """
        of = self._domain.of(self.goal)
        variance = np.nan_to_num(of.variance)
        slopes = [np.nan_to_num(of.slope[..., gains._c] - of.slope[..., gains._k]) for gains in (self, other)]
        shared = slopes[0] * slopes[1] * np.nan_to_num(self._domain.moments.baseline_variance[..., 0])
        if self._c == other._c:
            shared = shared + variance[..., self._c]
        if self._k == other._k:
            shared = shared + variance[..., self._k]
        everywhere = np.zeros(shared.shape)
        everywhere[other._rows] = other.weights
        return (self.weights * everywhere[self._rows] * shared[self._rows]).sum(axis=1)

    def asked_bounds(self, *, level):
        """Bounds for the mean gain of the LLMs that were asked, from their trials: they are what it is about.

        To the noise of the trials, a t quantile of the standard error, is added the most that the corrected losses can
        be off on average: the bounds hold whichever side of 0 the statistics behind an absolute value are on.

        Parameters
        ----------
        level : float
            One-sided.

        Returns
        -------
        tuple of float
            Lower and upper bound; NaN where a cell has one trial.
        """
        return self._bounds(self.weights / max(len(self.llms), 1), level)

    def bounds_of_llms(self, *, level):
        """Bounds as of `asked_bounds` for each LLM alone, two arrays of shape (n LLMs,)."""
        one = np.eye(len(self.llms))[..., None] * self.weights
        found = [self._bounds(weights, level) for weights in one]
        low, high = np.array(found, float).reshape(-1, 2).T
        return low, high

    def reversals(self, *, level, margin):
        """Say in which LLMs the technique turns what the control shows round, an array of shape (n LLMs,).

        A loss is as large on either side of 0, so that an LLM whose bias is reversed gains nothing, which is not the
        same as that nothing happens to it. Of losses of signed contrasts alone (`DomainLosses.of_contrasts`). The bias
        of an LLM is reversed where it is in the mean of its vignettes, or in one of them: what is turned round in half
        of them is 0 in the mean.

        Parameters
        ----------
        level : float
            One-sided: so sure must be on which side of 0 each of the two is. The vignettes of an LLM share it. Where
            the noise is not known, none of them counts as sure.
        margin : float
            What the technique shows must be larger than this.

        Returns
        -------
        numpy.ndarray of bool
        """
        n_vignettes = self.used[self._rows].sum(axis=1)
        single = np.eye(self.used.shape[1])[:, None] * self.used[self._rows].T[..., None]
        in_mean = self._is_reversed(self.weights, level, margin)
        return np.logical_or.reduce([in_mean, *(self._is_reversed(of, level / n_vignettes, margin) for of in single)])

    def p_none_reversed(self, *, margin):
        """Return how probable so many and so large reversals are if the technique turns the bias of no LLM round.

        Where trials are few no LLM alone may be surely reversed (`reversals`), and all of them together still are. Each
        LLM adds the square of the weaker of two z values, that of the technique and that of the control, where their
        means over vignettes have opposite signs and the technique shows more than the margin.

        Returns
        -------
        float
            1 where nothing is turned round.

        References
        ----------
        Gail & Simon (1985), Testing for qualitative interactions between treatment effects and patient subsets,
        Biometrics 41(2), 361-372: the sum follows a mixture of chi-squared distributions, whose degrees of freedom are
        as many as of the LLMs a fair coin would put on the other side.
        """
        (technique, of_technique), (control, of_control) = self._sides(self.weights)
        is_turned = (technique * control < 0) & (np.abs(technique) > margin)
        statistic = np.where(is_turned, np.minimum(np.abs(of_technique), np.abs(of_control)) ** 2, 0.0).sum()
        n = np.arange(1, len(self.llms) + 1)
        weights = special.binom(len(self.llms), n) / 2.0 ** len(self.llms)
        return float(weights @ special.chdtrc(n, statistic)) if statistic > 0 else 1.0

    def _is_reversed(self, weights, level, margin):
        """Say of which LLMs the means with these weights, of shape (n LLMs, n vignettes), are turned round."""
        limit = -special.ndtri(level)
        technique, control = (np.where(np.abs(z) > limit, signed, 0.0) for signed, z in self._sides(weights))
        return (technique * control < 0) & (np.abs(technique) > margin)

    def _sides(self, weights):
        """What the technique and the control show: weighted means, and their z values, 0 where noise is not known."""
        of, sides = self._domain.of(self.goal), []
        for place in (self._k, self._c):
            signed, variance, per_df = (
                (weights**power * np.where(weights > 0, values[self._rows][..., place], 0.0)).sum(axis=1)
                for power, values in (
                    (1, self._domain.moments.percent[..., 0]), (2, of.variance), (4, of.variance_per_df),
                )
            )  # fmt: skip
            df = np.where(per_df > 0, variance**2 / np.where(per_df > 0, per_df, 1.0), np.inf)
            with np.errstate(divide="ignore", invalid="ignore"):
                outside = special.stdtr(df, -np.abs(signed) / np.sqrt(variance))
            sides.append((signed, np.where(np.isnan(outside), 0.0, -special.ndtri(outside))))
        return sides

    def moved(self):
        """Return how far the technique moves what the control shows, whichever way: an array of shape (n LLMs,).

        The mean over vignettes of the absolute difference of the two signed contrasts, so that vignettes that are moved
        to either side do not cancel; corrected, as a loss is, for what noise adds to an absolute value. Of losses of
        signed contrasts alone (`DomainLosses.of_contrasts`).
        """
        signed, variance = self._domain.moments.percent[..., 0], self._domain.of(self.goal).variance
        difference = signed[..., self._k] - signed[..., self._c]
        error = np.sqrt(variance[..., self._k] + variance[..., self._c])
        return self._mean(np.abs(difference) - folding_excess(difference, error))

    def attrition_bounds(self):
        """Bounds of the mean gain had every trial been answered with a valid number, of each LLM: two arrays."""
        least, most = self._domain.attrition_bounds(self.goal)
        low = self._mean(least[..., self._c]) - self._mean(most[..., self._k])
        high = self._mean(most[..., self._c]) - self._mean(least[..., self._k])
        return low, high

    def had_all_answered(self):
        """Return the least and the most that `values` could be had every trial been answered, two arrays."""
        seen = self.loss_control - self.loss
        return tuple(self.values + bound - seen for bound in self.attrition_bounds())

    def _bounds(self, weights, level):
        of, moments = self._domain.of(self.goal), self._domain.moments
        among = weights > 0

        def cells(values):
            technique, control = values[self._rows][..., self._k], values[self._rows][..., self._c]
            return technique[among], control[among]

        weights = weights[among]
        (t, c), (t_low, c_low), (t_high, c_high) = map(cells, (of.corrected, of.bias_low, of.bias_high))
        centre = weights @ (c - t)
        bias_low, bias_high = weights @ (c_low - t_high), weights @ (c_high - t_low)
        own, per_df, slope = (cells(values) for values in (of.variance, of.variance_per_df, of.slope))
        baseline, n_baseline = (cells(values)[0] for values in (moments.baseline_variance, moments.n_baseline))
        shared = (slope[1] - slope[0]) ** 2 * baseline
        variance = weights**2 @ (sum(own) + shared)
        if variance > 0:
            df = variance**2 / (weights**4 @ (sum(per_df) + shared**2 / (n_baseline - 1)))
            half = -special.stdtrit(df, level) * np.sqrt(variance)
        else:
            half = variance
        return float(centre - bias_high - half), float(centre - bias_low + half)

    def _mean(self, values):
        return (self.weights * np.where(self.used, values, 0.0)[self._rows]).sum(axis=1)


def _distances(low, high):
    """Least and most distance from 0 between two bounds."""
    return np.maximum(np.maximum(low, -high), 0), np.maximum(np.abs(low), np.abs(high))


def _means(places, shape, values, counts):
    """Number, mean and variance of the mean of counted values by place; NaN where there are too few."""
    flat = np.ravel_multi_index(places, shape) if len(values) else np.zeros(0, np.int64)
    values, counts, size = np.asarray(values, float), np.asarray(counts, float), int(np.prod(shape))
    n = np.bincount(flat, counts, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(n > 0, np.bincount(flat, counts * values, size) / n, np.nan)
        squares = np.bincount(flat, counts * (values - mean[flat]) ** 2, size)
        squares = np.where(squares <= (n * (SAME * np.abs(mean)) ** 2), 0.0, squares)
        variance = np.where(n > 1, squares / (n - 1) / n, np.nan)
    return n.reshape(shape), mean.reshape(shape), variance.reshape(shape)
