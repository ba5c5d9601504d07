"""What a technique gains on a control in each LLM, how sure that is, and what it does to the side of a bias."""

import numpy as np
from scipy import special

from analysis.engine.losses import SAME
from analysis.engine.vendors import vendor_means
from analysis.methods.small_samples import FEW_BASELINE, FEWEST_BASELINE


class Gains:
    """What a technique gains on a control in each LLM; arrays of shape (n LLMs,), in the order of `llms`.

    Attributes
    ----------
    llms, vendors : list of str
        Those with both, in at least one vignette whose baseline is of enough answers, and whose they are.
    values : numpy.ndarray
        Criterion of the control less that of the technique, which is squared where the goal is of contrasts; 0 up to
        rounding is 0.
    control : numpy.ndarray
        Criterion of the control.
    variances, df : numpy.ndarray
        What the trials of the three samples leave uncertain in `values`, 0 where it is not loss, and the fewest degrees
        of freedom of these samples.
    n_trials : int
        Trials of the technique and of the control that enter.
    refused, near_zero, thin : bool
        Whether an LLM or vignette is left out for too few baseline answers, or for a baseline that these do not tell
        from 0, of which there is no percentage (Fieller 1954); and whether one that enters has few.
    lacks_items : bool
        Whether items are left out for too few answers that say what they are in percent of.
    uncorrected : bool
        Whether the noise of a loss that enters is not known.
    """

    def __init__(self, domain, goal, technique, control, among=None):
        self.goal = goal
        self._domain = domain
        self._k, self._c = (domain.techniques.index(name) for name in (technique, control))
        loss = domain.by_goal(goal)
        has_both = ~np.isnan(loss.loss[..., self._k]) & ~np.isnan(loss.loss[..., self._c])
        if among is not None:
            has_both &= np.isin(domain.llms, list(among))[:, None]
        enough = domain.n_baseline >= FEWEST_BASELINE
        self.refused = bool((has_both & ~enough).any())
        self.near_zero = bool((has_both & enough & domain.near_zero).any())
        self.used = has_both & enough & ~domain.near_zero
        self.thin = bool((self.used & (domain.n_baseline < FEW_BASELINE)).any())
        self.lacks_items = bool((self.used & domain.items_left_out).any())
        self._rows = np.flatnonzero(self.used.any(axis=1))
        self.llms = [domain.llms[row] for row in self._rows]
        self.vendors = [domain.vendors.get(llm, llm) for llm in self.llms]
        self.weights = (self.used / np.maximum(self.used.sum(axis=1, keepdims=True), 1))[self._rows]
        self.control = self._mean(loss.criterion[..., self._c])
        values = self.control - self._mean(loss.criterion[..., self._k])
        # what is no more than rounding would be a gain of either sign, and a probability of it that nothing explains
        size = self.control + self._mean(loss.noise[..., self._c])
        self.values = np.where(np.abs(values) <= SAME * np.maximum(size, size - values), 0.0, values)
        self.uncorrected = bool(
            (self.used & ~(loss.is_corrected[..., self._k] & loss.is_corrected[..., self._c])).any()
        )
        self.variances = self.covariances(self)
        df = np.minimum(loss.df[..., self._k], loss.df[..., self._c])
        if domain.has_base:
            df = np.minimum(df, domain.moments.n_baseline[..., self._c] - 1)
        self.df = np.where(self.used, df, np.inf)[self._rows].min(axis=1, initial=np.inf)
        of_both = domain.in_arms(goal, domain.moments.n[self.used][:, list({self._k, self._c})])
        self.n_trials = int(np.nansum(of_both))

    def by_vendor(self, values):
        """Return the unweighted means of values of LLMs by vendor, as of `vendor_means`."""
        return vendor_means(values, self.vendors)

    def root(self, square):
        """Return the root of a control's mean square, below 0 that of 0; None where the criterion is no square."""
        return np.sqrt(np.maximum(square, 0.0)) if self._domain.power(self.goal) == 2 else None

    def root_of(self, criterion):
        """Return a criterion in the unit of the loss."""
        root = self.root(criterion)
        return criterion if root is None else root

    def covariances(self, other):
        """Return the sampling covariances of the gains with those of another technique in the same LLMs.

        Two techniques share the baselines, and the control's trials where it is the same one; where each is compared on
        other items, these count as if they were of the same.

        Parameters
        ----------
        other : Gains
            Of the same domain and goal.

        Returns
        -------
        numpy.ndarray, shape (n LLMs of this one,)
            0 where the other does not have the LLM.
        """
        loss = self._domain.by_goal(self.goal)
        of_both = [np.nan_to_num(gains._domain.by_goal(self.goal).variance) for gains in (self, other)]
        variance = of_both[0] if other._domain is self._domain else np.sqrt(of_both[0] * of_both[1])
        slopes = [np.nan_to_num(loss.slope[..., gains._c] - loss.slope[..., gains._k]) for gains in (self, other)]
        shared = slopes[0] * slopes[1] * np.nan_to_num(self._domain.baseline_variance)
        if self._c == other._c:
            shared = shared + variance[..., self._c]
        if self._k == other._k:
            shared = shared + variance[..., self._k]
        everywhere = np.zeros(shared.shape)
        everywhere[other._rows] = other.weights
        return (self.weights * everywhere[self._rows] * shared[self._rows]).sum(axis=1)

    def bounds_of_llms(self, *, level):
        """Bounds for the gain of each LLM alone, from its trials.

        Parameters
        ----------
        level : float
            One-sided.

        Returns
        -------
        tuple of numpy.ndarray, shape (n LLMs,)
            Lower and upper bounds of the criterion, with a t quantile of the fewest degrees of freedom; NaN where the
            noise of a cell is not known, or where only the baseline has any.
        """
        with np.errstate(invalid="ignore"):
            error = np.sqrt(np.where(self.has_noise(), self.variances, np.nan))
            half = -special.stdtrit(self.df, level) * error
        return self.values - half, self.values + half

    def reversals(self, *, level, margin):
        """Say in which LLMs the technique turns what the control shows surely round, an array of shape (n LLMs,).

        A loss is as large on either side of 0, so that an LLM whose bias is reversed gains nothing, which is not the
        same as that nothing happens to it. Of losses of one contrast alone (`DomainLosses.signed`), in the mean of the
        vignettes of an LLM or in one of them: what is turned round in half of them is 0 in the mean.

        Parameters
        ----------
        level : float
            One-sided: so sure must be that the technique shows more than the margin, and more than the control does, on
            the other side of 0 than the control surely is. The vignettes of an LLM share it. Where the noise is not
            known, nothing is sure.
        margin : float

        Returns
        -------
        numpy.ndarray of bool
        """
        n_vignettes = self.used[self._rows].sum(axis=1)
        single = np.eye(self.used.shape[1])[:, None] * self.used[self._rows].T[..., None]
        in_mean = self._is_reversed(self.weights, level, margin)
        return np.logical_or.reduce([in_mean, *(self._is_reversed(one, level / n_vignettes, margin) for one in single)])

    def _is_reversed(self, weights, level, margin):
        """Say of which LLMs the means with these weights, of shape (n LLMs, n vignettes), are turned round."""
        (technique, error), (control, error_c) = self._sides(weights)
        with np.errstate(invalid="ignore"):
            quantile = -special.stdtrit(self.df, level)
            side = np.where(np.abs(control) > quantile * error_c, np.sign(control), 0.0)
            beyond = -side * technique - margin > quantile * error
            larger = -side * technique - np.abs(control) > quantile * np.hypot(error, error_c)
        return (side != 0) & beyond & larger

    def _sides(self, weights):
        """What the technique and the control show: weighted means and their errors, NaN where noise is not known."""
        signed, sides = self._domain.signed(self.goal), []
        errors = self._domain.by_goal(self.goal).error
        for place in (self._k, self._c):
            mean, variance = (
                (weights**power * np.where(weights > 0, values[self._rows][..., place], 0.0)).sum(axis=1)
                for power, values in ((1, signed), (2, errors))
            )
            sides.append((mean, np.where(variance > 0, np.sqrt(variance), np.nan)))
        return sides

    def moved(self):
        """Return how far the technique moves what the control shows, whichever way.

        The root of the mean over vignettes of the squared difference of the two signed contrasts, less what noise adds
        to it, so that vignettes that are moved to either side do not cancel. Of losses of one contrast alone.

        Returns
        -------
        numpy.ndarray, shape (n LLMs,)
            In the unit of the goal.
        """
        signed, noise = self._domain.signed(self.goal), self._domain.by_goal(self.goal).noise
        difference = signed[..., self._k] - signed[..., self._c]
        return np.sqrt(np.maximum(self._mean(difference**2 - noise[..., self._k] - noise[..., self._c]), 0.0))

    def level_changes(self):
        """Return by how much nearer two arms come to each other by a factor, and how the level of both changes.

        Returns
        -------
        tuple of numpy.ndarray, shape (n LLMs,), or None
            As `analysis.engine.level.gap_shrinks_with_level` takes them; None of a goal without a ratio.
        """
        apart = self._domain.apart(self.goal)
        if "log_ratio" not in apart:
            return None
        sizes, levels = np.abs(apart["log_ratio"]), 100 + apart["signed_shift"]
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = np.log(levels[..., self._k] / levels[..., self._c])
        return self._mean(sizes[..., self._c] - sizes[..., self._k]), self._mean(levels)

    def had_all_answered(self):
        """Return the least and the most that `values` could be had every trial been answered with a valid number.

        Returns
        -------
        tuple of numpy.ndarray, shape (n LLMs,)
            Infinite where a vignette's valid range has no end.

        References
        ----------
        Manski (1990), Nonparametric bounds on treatment effects, American Economic Review 80(2), 319-323.
        """
        loss = self._domain.by_goal(self.goal)
        least, most = self._domain.attrition_bounds(self.goal, self._domain.power(self.goal))
        noise = self._mean(loss.noise[..., self._c] - loss.noise[..., self._k])
        low = self._mean(least[..., self._c]) - self._mean(most[..., self._k])
        high = self._mean(most[..., self._c]) - self._mean(least[..., self._k])
        return low - noise, high - noise

    def has_noise(self):
        """Say of which LLMs the noise of every cell is known, and is more than that of the baseline: (n LLMs,)."""
        variance = self._domain.by_goal(self.goal).variance
        of_both = (variance[..., self._k] + variance[..., self._c])[self._rows]
        used = self.used[self._rows]
        return ~(used & np.isnan(of_both)).any(axis=1) & (used & (of_both > 0)).any(axis=1)

    def _mean(self, values):
        return (self.weights * np.where(self.used, values, 0.0)[self._rows]).sum(axis=1)
