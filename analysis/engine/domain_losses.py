"""The losses of the conditions of one study and domain, from counts of answers or from contrasts of arms."""

import numpy as np
import pandas as pd
from scipy import special

from analysis.counts import baseline_rows, selected
from analysis.engine.gains import Gains
from analysis.engine.losses import GOALS, SAME, SIDES, Moments, by_arm, distance_bounds, folded, losses


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
            The name under which `by_goal` and `compared` give the losses, such as that of a measure and contrast.
        contrasts : analysis.methods.crossed_effects.SignedContrasts
            Of shape (n LLMs, n vignettes, n techniques); NaN where there is none. Where a contrast is to be close to
            some other value than 0, `signed` is the distance from that.
        bounds : tuple of numpy.ndarray, optional
            As of `analysis.methods.crossed_effects.signed_bounds`: without them it is not known what is missing.
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

    def by_goal(self, goal):
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
        has_sides = (self.moments.n[:, :, self.techniques.index(technique)] > 0).all(axis=-1)
        if self.has(technique).any():
            return None
        return "no_baseline" if has_sides.any() else self._incomplete

    def _places(self, rows, *keys):
        names = {"llm": self.llms, "vignette": self.vignettes, "technique": self.techniques, "anchor_direction": SIDES}
        return tuple(pd.Categorical(rows[key], names[key]).codes.astype(np.int64) for key in keys)

    def _ranges(self, missing, shape):
        """Number of trials without an answer, and the least and most percent that each could have been."""
        is_here = missing["llm"].isin(self.llms) & missing["vignette"].isin(self.vignettes)
        rows = missing[is_here & missing["technique"].isin(self.techniques) & missing["anchor_direction"].isin(SIDES)]
        n, least, most = np.zeros(shape), np.full(shape, -np.inf), np.full(shape, np.inf)
        place = self._places(rows, "llm", "vignette", "technique", "anchor_direction")
        n[place] = rows["n_missing"]
        baseline = np.broadcast_to(self.baseline[..., None, None], shape)[place]
        ends = (("valid_min", -np.inf), ("valid_max", np.inf))
        ends = [100 * rows[name].astype(float).fillna(end).to_numpy() / baseline for name, end in ends]
        least[place], most[place] = np.sort(ends, axis=0)
        return n, least, most

    def attrition_bounds(self, goal):
        """Return the least and most loss, had everybody answered, arrays as of `by_goal`."""
        if self._signed_bounds is not None:
            return distance_bounds(*self._signed_bounds)
        n, lowest, highest = self._missing
        answered = self.moments
        share = n / np.maximum(answered.n + n, 1)

        def mixed(seen, missed):
            return np.where(share > 0, (1 - share) * seen + share * np.where(share > 0, missed, 0.0), seen)

        if arms := GOALS[goal].distance_of:
            places = [SIDES.index(arm) for arm in arms]
            nearest, farthest = distance_bounds(lowest - 100, highest - 100)
            ends = mixed(answered.distance, nearest), mixed(answered.distance, farthest)
            return tuple(end[..., places].mean(axis=-1) for end in ends)
        low, high = (by_arm(mixed(answered.percent, end), 100.0) for end in (lowest, highest))
        ends = [distance_bounds(low[a] - high[b], high[a] - low[b]) for a, b in GOALS[goal].contrasts]
        return tuple(np.mean(bounds, axis=0) for bounds in zip(*ends, strict=True))


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
