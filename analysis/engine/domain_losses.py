"""The losses of the conditions of one study and domain, from counts of answers or from contrasts of arms."""

import numpy as np
import pandas as pd
from scipy import special

from analysis.counts import CONTROL
from analysis.engine.gains import Gains
from analysis.engine.losses import GOALS, NONE, SAME, SIDES, Moments, by_arm, distance_bounds, losses, squares
from analysis.engine.vendors import CriterionByLlm
from analysis.methods.small_samples import FEWEST_BASELINE

ITEMS = "items"  # what may be cases
CASE = "\1"  # between the names of a vignette and an item that is a case of it


class DomainLosses:
    """Everything about one study and domain that its losses and gains are made of.

    Items are averaged within their vignette, each in percent of its own answers in the base: those that an LLM has
    answered in all arms that the goals name, under every technique. Where items are cases, each is what a vignette is.

    Parameters
    ----------
    counts : pandas.DataFrame
        Rows of `marts.counts` of one study, paradigm, domain, row set and response source.
    base : str
        The arm that all is in percent of, without a technique.
    goals : dict of str to Goal
        Their contrasts name the base as `NONE`.
    temperature : float, optional
        At which the base was asked; of all temperatures by default.
    cases : {'items'}, optional
        Of what losses are taken before they are averaged; of vignettes by default.

    Attributes
    ----------
    llms, vignettes, techniques : list of str
        Where items are cases, a vignette is named with its item, as `case_of` tells them apart.
    arms : tuple of str
    vendors : dict of str to str
        Of LLMs; one that is not there is a vendor of its own.
    moments : Moments
        Arrays of shape (n LLMs, n vignettes, n techniques, n arms), without the last axis for what is of the baseline.
    """

    def __init__(self, counts, base=NONE, goals=GOALS, *, temperature=None, cases=None):
        self.has_cases = cases == ITEMS and bool(counts["item"].notna().any())
        if self.has_cases:
            named = counts["vignette"] + (CASE + counts["item"]).fillna("")
            counts = counts.assign(vignette=named, item=None)
        named = {arm for goal in goals.values() for arm in [*sum(goal.contrasts, ()), *goal.distance_of]} - {NONE}
        arms = SIDES if named == set(SIDES) else tuple(sorted(named))
        is_answered, is_under = counts["n_trials"] > 0, counts["arm"].isin(arms)
        is_base = is_answered & (counts["arm"] == base) & (counts["technique"] == CONTROL)
        if temperature is not None:
            is_base &= counts["temperature"] == temperature
        self._take(counts[is_under & is_answered], counts[is_base], arms, goals, counts[is_under & ~is_answered])

    def _take(self, rows, unanchored, arms, goals, missing):
        """Take answers in arms, those without an anchor or technique, and how many were not given."""
        self.arms, self.goals, self.vendors = arms, goals, {}
        asked = pd.concat([rows, missing])
        self.llms, self.vignettes, self.techniques = (
            sorted(asked[name].unique()) for name in ("llm", "vignette", "technique")
        )
        self._units = sorted(_units(asked).unique())
        self._vignette_of = np.array([self.vignettes.index(unit.partition("\0")[0]) for unit in self._units], int)
        unanchored = unanchored[unanchored["llm"].isin(self.llms) & _units(unanchored).isin(self._units)]
        shape = (len(self.llms), len(self._units))
        place = self._places(unanchored, "llm", "unit")
        n_of_unit, baseline, variance = _means(place, shape, unanchored["value"], unanchored["n_trials"])
        self._baseline = np.where(baseline == 0, np.nan, baseline)
        of_base = np.abs(100 * unanchored["value"].to_numpy(float) / self._baseline[place] - 100)
        _, base_distance, _ = _means(place, shape, of_base, unanchored["n_trials"])
        shape = (*shape, len(self.techniques), len(arms))
        place = self._places(rows, "llm", "unit", "technique", "arm")
        of_base = np.broadcast_to(self._baseline[..., None, None], shape)[place]
        percent = 100 * rows["value"].to_numpy(float) / of_base
        n_trials, means, variances = _means(place, shape, percent, rows["n_trials"])
        _, distances, distance_variances = _means(place, shape, np.abs(percent - 100), rows["n_trials"])
        _, slopes, _ = _means(place, shape, -np.sign(percent - 100) * percent, rows["n_trials"])
        self._seen = (n_trials, means, distances)
        noise = np.broadcast_to((variance / self._baseline**2)[..., None], shape[:3])
        n_baseline, self._base_distance = (
            np.broadcast_to(values[..., None], shape[:3]) for values in (n_of_unit, base_distance)
        )
        df, self._enters = None, None
        self.items_left_out = np.zeros((len(self.llms), len(self.vignettes)), bool)
        if len(self._units) > len(self.vignettes):
            self._choose_items(means, n_of_unit, noise[..., :1])
            variances, distance_variances = (
                self._with_single_answers(of_means, n_trials) for of_means in (variances, distance_variances)
            )
            df, n_baseline = (self._sums(n, 0) for n in (n_trials - 1, n_baseline - 1))
            n_trials, n_baseline = self._sums(n_trials, 0), n_baseline + 1
            means, distances, slopes = (self._sums(values, 1) for values in (means, distances, slopes))
            variances, distance_variances, noise = (
                self._sums(values, 2) for values in (variances, distance_variances, noise)
            )
            self._base_distance = self._sums(self._base_distance, 1)
            n_of_unit = self._least_of_vignettes(n_of_unit)
        self.n_baseline = n_of_unit
        self.moments = Moments(means, variances, n_trials, distances, distance_variances, slopes, noise, n_baseline, df)
        self._missing = self._ranges(missing, shape)
        self.incomplete = "missing_direction" if arms == SIDES else "missing_arm"
        self._known, self._signed_bounds, self._n_put, self._on_same_items = {}, None, None, None

    def _choose_items(self, means, n_baseline, noise):
        """Choose the items that enter: those that an LLM answered in all arms under every technique it was asked with.

        So that what is compared is of the same items. An item of which too few answers say what it is in percent of,
        or which may as well be 0, is left out where others of its vignette are not.
        """
        complete = ~np.isnan(means).any(axis=-1)
        was_asked = (self._of_vignettes(complete.astype(float)) > 0)[:, self._vignette_of]
        common = (complete | ~was_asked).all(axis=-1) & complete.any(axis=-1)
        quantile = special.stdtrit(np.maximum(n_baseline - 1, 1), 0.975)
        is_known = (n_baseline >= FEWEST_BASELINE) & (np.nan_to_num(noise[..., 0]) * quantile**2 < 1)
        has_known = self._of_vignettes((common & is_known).astype(float)) > 0
        is_left_out = common & ~is_known & has_known[:, self._vignette_of]
        self._enters = complete & (common & ~is_left_out)[..., None]
        self.items_left_out = self._of_vignettes(is_left_out.astype(float)) > 0

    def _with_single_answers(self, variances, n_trials):
        """Give the mean of a single answer the variance that answers to the other items of its vignette have."""
        several = self._enters[..., None] & (n_trials > 1)
        squares = self._of_vignettes(np.where(several, variances * n_trials * (n_trials - 1), 0.0))
        df = self._of_vignettes(np.where(several, n_trials - 1, 0.0))
        pooled = np.where(df > 0, squares / np.maximum(df, 1), np.nan)[:, self._vignette_of]
        return np.where(n_trials == 1, pooled, variances)

    def _least_of_vignettes(self, n):
        """Return the fewest of what is of units, by vignette, among those that enter; 0 where none does."""
        enters = self._enters.any(axis=-1)
        least = np.full((n.shape[0], len(self.vignettes)), np.inf)
        np.minimum.at(least, (slice(None), self._vignette_of), np.where(enters, n, np.inf))
        return np.where(np.isinf(least), 0.0, least)

    def _of_vignettes(self, values):
        """Add up what is of units, in axis 1, by vignette."""
        added = np.zeros((values.shape[0], len(self.vignettes), *values.shape[2:]))
        np.add.at(added, (slice(None), self._vignette_of), values)
        return added

    def _sums(self, values, power):
        """Add up what is of the units of each vignette that enter, over how many these are to some power."""
        enters = self._enters if values.ndim == self._enters.ndim else self._enters[..., None]
        n = self._of_vignettes(enters.astype(float))
        added = self._of_vignettes(np.where(enters, values, 0.0))
        return np.where(n > 0, added / np.maximum(n, 1) ** power, np.nan if power else 0.0)

    def of_items(self, goal, technique):
        """Return what each item adds to the criterion of its vignette, to first order.

        Parameters
        ----------
        goal : str
        technique : str

        Returns
        -------
        numpy.ndarray, shape (n LLMs, n items)
            NaN where an item does not enter; the mean over those of a vignette is its criterion with its noise.
        """
        enters, percent, distances = self._items(technique)
        if arms := self.goals[goal].distance_of:
            return np.where(enters, distances[..., [self.arms.index(arm) for arm in arms]].mean(axis=-1), np.nan)
        of_arms = by_arm(percent, 100.0, self.arms)
        signed = (np.where(enters, of_arms[a] - of_arms[b], np.nan) for a, b in self.goals[goal].contrasts)
        return np.mean([linear_squares(values, self._vignette_of) for values in signed], axis=0)

    def of_cases(self, goal, technique):
        """Return what each case adds to the criterion, with its noise: that of the case itself.

        Parameters
        ----------
        goal, technique : str

        Returns
        -------
        numpy.ndarray, shape (n LLMs, n vignettes)
            NaN where a case has none, or too few answers in the base.
        """
        loss, place = self.by_goal(goal), self.techniques.index(technique)
        is_usable = (self.n_baseline >= FEWEST_BASELINE) & ~self.near_zero
        return np.where(is_usable, loss.criterion[..., place], np.nan)

    def _items(self, technique):
        """Which items of LLMs enter, and what they come to in each arm."""
        place = self.techniques.index(technique)
        is_usable = (self.n_baseline >= FEWEST_BASELINE) & ~self.near_zero
        enters = self._enters[..., place] & is_usable[:, self._vignette_of]
        return enters, *(values[..., place, :] for values in self._seen[1:])

    def signed(self, goal):
        """Return the contrast of a goal that is one, as it points.

        Parameters
        ----------
        goal : str

        Returns
        -------
        numpy.ndarray, shape (n LLMs, n vignettes, n techniques), or None
            In percentage points, of contrasts alone in the unit of the measure; None of a goal that is several
            contrasts, or a distance.
        """
        if goal in self.goals:
            return self._contrast(self.moments.percent, goal) if len(self.goals[goal].contrasts) == 1 else None
        return self.moments.percent[..., 0]  # of contrasts alone

    def apart(self, goal):
        """Return how far two arms together are from the baseline, and how far each of them is from where they meet.

        Parameters
        ----------
        goal : str

        Returns
        -------
        dict of str to numpy.ndarray, shape (n LLMs, n vignettes, n techniques)
            In percentage points `signed_shift`, the mean of the two arms less 100, `shift`, its size, and `half_gap`,
            half of how far the arms lie apart, so that shift² + half_gap² is the mean of the squared distances of the
            two arms from 100. Of a goal that is one contrast also `log_ratio`, the natural logarithm of the first arm
            over the second, which stays as it is where all answers are halved; NaN where one is not positive. Empty of
            a goal whose contrasts name more or fewer arms beside the base, or that is a distance.
        """
        pairs = self.goals[goal].contrasts if goal in self.goals else ()
        arms = [arm for arm in dict.fromkeys(sum(pairs, ())) if arm != NONE]
        if len(arms) != 2:
            return {}
        of_arms = by_arm(self.moments.percent, 100.0, self.arms)
        first, second = (of_arms[arm] for arm in arms)
        shift = (first + second) / 2 - 100
        found = {"signed_shift": shift, "shift": np.abs(shift), "half_gap": np.abs(first - second) / 2}
        if len(pairs) > 1:
            return found
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((first > 0) & (second > 0), np.log(first) - np.log(second), np.nan)
        return found | {"log_ratio": ratio}

    def _contrast(self, percent, goal):
        ((a, b),) = self.goals[goal].contrasts
        of_arms = by_arm(percent, 100.0, self.arms)
        return of_arms[a] - of_arms[b]

    def in_arms(self, goal, values):
        """Return those of values by arm that are of the arms of a goal.

        Parameters
        ----------
        goal : str
        values : numpy.ndarray, shape (..., n arms)

        Returns
        -------
        numpy.ndarray, shape (..., n arms of the goal)
        """
        if goal not in self.goals:
            return values
        stated = self.goals[goal]
        return values[..., [arm in stated.distance_of or arm in sum(stated.contrasts, ()) for arm in self.arms]]

    def n_put(self, goal):
        """Return how many trials were asked in the arms of a goal, and how many of these have no answer.

        Parameters
        ----------
        goal : str

        Returns
        -------
        tuple of numpy.ndarray, shape (n LLMs, n vignettes, n techniques)
        """
        if self._n_put is not None:
            return self._n_put
        n_missing, n_answered = (
            self._of_vignettes(self.in_arms(goal, n).sum(axis=-1)) for n in (self._missing[0], self._seen[0])
        )
        return n_missing + n_answered, n_missing

    def base_loss(self, goal):
        """Return how far the answers in the base are from their mean, of a goal that is a distance.

        Parameters
        ----------
        goal : str

        Returns
        -------
        numpy.ndarray, shape (n LLMs, n vignettes, n techniques), or None
            In percent of that mean; None of other goals.
        """
        is_distance = goal in self.goals and self.goals[goal].distance_of
        return self._base_distance if is_distance else None

    def power(self, goal):
        """Return to which power of the loss of a goal its criterion is.

        Parameters
        ----------
        goal : str

        Returns
        -------
        {1, 2}
        """
        return self.goals[goal].power if goal in self.goals else 2

    @property
    def has_base(self):
        """Whether losses are in percent of the answers in one arm."""
        return bool(self.goals)

    @property
    def has_items(self):
        """Whether some vignette was asked with several items."""
        return self._enters is not None

    @classmethod
    def of_moments(cls, llms, vignettes, techniques, moments):
        """Return those of conditions under a low and a high anchor whose moments are known.

        Parameters
        ----------
        llms, vignettes, techniques : list of str
        moments : Moments
            Of shape (n LLMs, n vignettes, n techniques, 2).

        Returns
        -------
        DomainLosses
            Without bounds of what missing answers could change.
        """
        made = cls.__new__(cls)
        made.llms, made.vignettes, made.techniques, made.moments = llms, vignettes, techniques, moments
        made.arms, made.goals, made._enters, made.vendors, made.has_cases = SIDES, GOALS, None, {}, False
        made.n_baseline = moments.n_baseline[..., 0]
        made._known, made.incomplete = {}, "missing_direction"
        made._signed_bounds = made._on_same_items = None
        made.items_left_out = np.zeros(made.n_baseline.shape, bool)
        return made

    @classmethod
    def of_contrasts(cls, llms, vignettes, techniques, goal, contrasts, bounds=None, n_put=None, on_same_items=None):
        """Return those of signed contrasts of arms, which have no baseline: the loss is their absolute value.

        The noise of trials adds to a square here as it does to that of an anchor, and is taken off in the same way. How
        far items lie apart is no noise, and is taken off only where it cannot be told from it: where an LLM was put
        each item once under some technique, which is then so under every one, so that losses are of the same.

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
        n_put : tuple of numpy.ndarray, optional
            How many trials were asked, and how many of these have no answer.
        on_same_items : callable, optional
            Returns those of a technique and its control on the items that an LLM answered under both, or None where
            these are all.

        Returns
        -------
        DomainLosses
        """
        signed, variance = np.asarray(contrasts.signed, float), np.asarray(contrasts.variance, float)
        none, n_trials = np.zeros(signed.shape), np.asarray(contrasts.n, float)[..., None]
        sides = signed[..., None], variance[..., None]
        not_known = np.full((*signed.shape, 1), np.nan)
        moments = Moments(*sides, n_trials, not_known, not_known, not_known, none, np.full(signed.shape, np.inf))
        made = cls.of_moments(llms, vignettes, techniques, moments)
        df = np.asarray(contrasts.df, float)
        is_told = (~np.isnan(contrasts.noise) | np.isnan(signed)).all(axis=-1, keepdims=True)
        noise = np.where(is_told, np.nan_to_num(contrasts.noise), np.nan_to_num(variance))
        made._known = {goal: squares(sides[0], sides[1][..., None], none[..., None], none, df, noise)}
        made.incomplete, made.goals = "missing_arm", {}
        made._n_put, made._signed_bounds, made._on_same_items = n_put, bounds, on_same_items
        return made

    def by_goal(self, goal):
        """Return the losses for a goal.

        Parameters
        ----------
        goal : str

        Returns
        -------
        Loss
            Of arrays of shape (n LLMs, n vignettes, n techniques), in percentage points or the unit of the measure.
        """
        if goal not in self._known:
            self._known[goal] = losses(self.goals[goal], self.moments, self.arms)
        return self._known[goal]

    def compared(self, goal, technique, control, *, among=None):
        """Return what a technique gains on a control, by LLM.

        Parameters
        ----------
        goal : str
        technique, control : str
        among : collection of str, optional
            The LLMs that enter; all by default.

        Returns
        -------
        Gains
            Of the LLMs, vignettes and items that both have, with baselines of `FEWEST_BASELINE` answers and more.
        """
        matched = self._on_same_items and self._on_same_items(technique, control)
        return Gains(matched or self, goal, technique, control, among)

    def criterion_by_llm(self, goal, technique):
        """Return the criterion of a technique by LLM, of those that have one.

        Parameters
        ----------
        goal, technique : str

        Returns
        -------
        CriterionByLlm
        """
        by_cell = self.by_goal(goal).criterion[..., self.techniques.index(technique)]
        has = ~np.isnan(by_cell)
        rows = np.flatnonzero(has.any(axis=1))
        llms = [self.llms[row] for row in rows]
        vendors = [self.vendors.get(llm, llm) for llm in llms]
        means = np.where(has, by_cell, 0.0)[rows].sum(axis=1) / has[rows].sum(axis=1)
        return CriterionByLlm(llms, vendors, means, self.power(goal))

    def has(self, *techniques):
        """Return where all of these techniques have a loss.

        Parameters
        ----------
        *techniques : str

        Returns
        -------
        numpy.ndarray of bool, shape (n LLMs, n vignettes)
        """
        places = [self.techniques.index(name) for name in techniques]
        return ~np.isnan(self.moments.percent[..., places, :]).any(axis=(-1, -2))

    @property
    def baseline_variance(self):
        """Return the variance of the logarithm of a mean baseline, shape (n LLMs, n vignettes)."""
        variance = self.moments.baseline_variance
        return np.fmax.reduce(variance, axis=-1) if variance.size else np.zeros(self.n_baseline.shape)

    @property
    def near_zero(self):
        """Return where the 95 % interval of a baseline holds 0, shape (n LLMs, n vignettes)."""
        quantile = special.stdtrit(np.maximum(self.n_baseline - 1, 1), 0.975)
        return np.nan_to_num(self.baseline_variance) * quantile**2 >= 1

    def n_trials(self, technique, goal):
        """Return the trials of a technique in the arms of a goal by LLM.

        Parameters
        ----------
        technique, goal : str

        Returns
        -------
        numpy.ndarray of int, shape (n LLMs,)
        """
        of_technique = self.moments.n[:, :, self.techniques.index(technique)]
        return self.in_arms(goal, of_technique).sum(axis=(1, 2)).astype(int)

    def why_not(self, technique):
        """Return why a technique has no loss anywhere.

        Parameters
        ----------
        technique : str

        Returns
        -------
        {'missing_direction', 'missing_arm', 'no_baseline'} or None
            None where it has one; a missing direction is a missing arm of a low and a high one.
        """
        has_sides = (self.moments.n[:, :, self.techniques.index(technique)] > 0).all(axis=-1)
        if self.has(technique).any():
            return None
        return "no_baseline" if has_sides.any() else self.incomplete

    def _places(self, rows, *keys):
        names = {"llm": self.llms, "unit": self._units, "technique": self.techniques, "arm": self.arms}
        values = {key: _units(rows) if key == "unit" else rows[key] for key in keys}
        return tuple(pd.Index(names[key]).get_indexer(values[key]) for key in keys)

    def _ranges(self, missing, shape):
        """Number of trials without an answer, and the least and most percent that each could have been."""
        is_here = missing["llm"].isin(self.llms) & _units(missing).isin(self._units)
        rows = missing[is_here & missing["technique"].isin(self.techniques) & missing["arm"].isin(self.arms)]
        n, least, most = np.zeros(shape), np.full(shape, -np.inf), np.full(shape, np.inf)
        place = self._places(rows, "llm", "unit", "technique", "arm")
        np.add.at(n, place, rows["n_asked"].to_numpy(float))
        baseline = np.broadcast_to(self._baseline[..., None, None], shape)[place]
        ends = (("valid_min", -np.inf), ("valid_max", np.inf))
        with np.errstate(over="ignore"):  # a range may be as wide as numbers go
            ends = [100 * rows[name].astype(float).fillna(end).to_numpy() / baseline for name, end in ends]
        least[place], most[place] = np.sort(ends, axis=0)
        return n, least, most

    def attrition_bounds(self, goal, power=1):
        """Return the least and the most loss, had everybody answered within the valid range of the vignette.

        Parameters
        ----------
        goal : str
        power : {1, 2}
            Of the absolute contrasts whose mean is bounded.

        Returns
        -------
        tuple of numpy.ndarray, shape (n LLMs, n vignettes, n techniques)
            Infinite where the valid range has no end; the baseline stays as it is.

        References
        ----------
        Manski (1990), Nonparametric bounds on treatment effects, American Economic Review 80(2), 319-323.
        """
        if self._signed_bounds is not None:
            return tuple(end**power for end in distance_bounds(*self._signed_bounds))
        n, lowest, highest = self._missing
        n_answered, percent, distance = self._seen
        share = n / np.maximum(n_answered + n, 1)

        def mixed(seen, missed):
            answered = np.where(share < 1, (1 - share) * seen, 0.0)
            of_units = np.where(share > 0, answered + share * np.where(share > 0, missed, 0.0), seen)
            return self._sums(of_units, 1) if self.has_items else of_units

        if arms := self.goals[goal].distance_of:
            places = [self.arms.index(arm) for arm in arms]
            nearest, farthest = distance_bounds(lowest - 100, highest - 100)
            ends = mixed(distance, nearest), mixed(distance, farthest)
            return tuple(end[..., places].mean(axis=-1) for end in ends)
        low, high = (by_arm(mixed(percent, end), 100.0, self.arms) for end in (lowest, highest))
        ends = [distance_bounds(low[a] - high[b], high[a] - low[b]) for a, b in self.goals[goal].contrasts]
        return tuple(np.mean([end**power for end in bounds], axis=0) for bounds in zip(*ends, strict=True))


def linear_squares(values, vignette_of):
    """Return what items add to the squares of the means of their vignettes, to first order.

    Parameters
    ----------
    values : numpy.ndarray, shape (n LLMs, n items)
        NaN where there is none.
    vignette_of : numpy.ndarray of int, shape (n items,)

    Returns
    -------
    numpy.ndarray, shape (n LLMs, n items)
        2 m x - m² of an item x whose vignette has the mean m: their mean is m².
    """
    sums = np.zeros((2, len(values), vignette_of.max() + 1))
    has = ~np.isnan(values)
    for added, of_items in zip(sums, (np.where(has, values, 0.0), has), strict=True):
        np.add.at(added, (slice(None), vignette_of), of_items)
    means = (sums[0] / np.maximum(sums[1], 1))[:, vignette_of]
    return 2 * means * values - means**2


def case_of(name):
    """Return the vignette and the item that a case is, which is None of a vignette that stands for itself.

    Parameters
    ----------
    name : str
        As `DomainLosses.vignettes` holds it.

    Returns
    -------
    tuple of (str, str or None)
    """
    vignette, _, item = name.partition(CASE)
    return vignette, item or None


def _units(rows):
    """Return what has a baseline of its own: vignettes, or where they have items vignettes and items."""
    return rows["vignette"] + "\0" + rows["item"].fillna("")


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
