"""What a technique gains on a control in each LLM, how sure that is, and what it does to the side of a bias."""

import numpy as np
from scipy import special

from analysis.engine.losses import SAME, folding_excess
from analysis.methods.small_samples import FEW_BASELINE, FEWEST_BASELINE


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
        What the trials of the three samples leave uncertain in `values`; 0 where it is not loss.
    n_trials : int
        Trials of the technique and of the control that enter.
    refused, near_zero, thin : bool
        Whether an LLM or vignette is left out for too few baseline answers, or for a baseline that these do not tell
        from 0, of which there is no percentage (Fieller 1954); and whether one that enters has few.
    lacks_items : bool
        Whether items are left out for too few answers that say what they are in percent of.
    uncorrected : bool
        Whether a loss that enters could not be corrected.
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
        self.weights = (self.used / np.maximum(self.used.sum(axis=1, keepdims=True), 1))[self._rows]
        self.loss, self.loss_control = self._mean(loss.loss[..., self._k]), self._mean(loss.loss[..., self._c])
        values = self._mean(loss.corrected[..., self._c]) - self._mean(loss.corrected[..., self._k])
        # what is no more than rounding would be a gain of either sign, and a probability of it that nothing explains
        self.values = np.where(np.abs(values) <= SAME * np.maximum(self.loss, self.loss_control), 0.0, values)
        self.uncorrected = bool(
            (self.used & ~(loss.is_corrected[..., self._k] & loss.is_corrected[..., self._c])).any()
        )
        self.variances = self.covariances(self)
        of_both = domain.in_arms(goal, domain.moments.n[self.used][:, list({self._k, self._c})])
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
        loss = self._domain.by_goal(self.goal)
        variance = np.nan_to_num(loss.variance)
        slopes = [np.nan_to_num(loss.slope[..., gains._c] - loss.slope[..., gains._k]) for gains in (self, other)]
        shared = slopes[0] * slopes[1] * np.nan_to_num(self._domain.baseline_variance)
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
        """Bounds as of `asked_bounds` for each LLM alone.

        Parameters
        ----------
        level : float
            One-sided.

        Returns
        -------
        tuple of numpy.ndarray, shape (n LLMs,)
            Lower and upper bounds, in the unit of the goal.
        """
        one = np.eye(len(self.llms))[..., None] * self.weights
        bounds = [self._bounds(weights, level) for weights in one]
        low, high = np.array(bounds, float).reshape(-1, 2).T
        return low, high

    def reversals(self, *, level, margin):
        """Say in which LLMs the technique turns what the control shows round, an array of shape (n LLMs,).

        A loss is as large on either side of 0, so that an LLM whose bias is reversed gains nothing, which is not the
        same as that nothing happens to it. Of losses of one contrast alone (`DomainLosses.signed`). The bias
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
        return np.logical_or.reduce([in_mean, *(self._is_reversed(one, level / n_vignettes, margin) for one in single)])

    def p_none_reversed(self, *, margin):
        """Return how probable so many and so large reversals are if the technique turns the bias of no LLM round.

        Where trials are few no LLM alone may be surely reversed (`reversals`), and all of them together still are. Each
        LLM adds the square of the weaker of two z values, that of the technique and that of the control, where their
        means over vignettes have opposite signs and the technique shows more than the margin.

        Parameters
        ----------
        margin : float
            In the unit of the goal.

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
        """What the technique and the control show: weighted means, and their z values, 0 where noise is not loss."""
        loss, sides = self._domain.by_goal(self.goal), []
        for place in (self._k, self._c):
            signed, variance, per_df = (
                (weights**power * np.where(weights > 0, values[self._rows][..., place], 0.0)).sum(axis=1)
                for power, values in (
                    (1, self._domain.signed(self.goal)), (2, loss.variance), (4, loss.variance_per_df),
                )
            )  # fmt: skip
            df = np.where(per_df > 0, variance**2 / np.where(per_df > 0, per_df, 1.0), np.inf)
            with np.errstate(divide="ignore", invalid="ignore"):
                outside = special.stdtr(df, -np.abs(signed) / np.sqrt(variance))
            sides.append((signed, np.where(np.isnan(outside), 0.0, -special.ndtri(outside))))
        return sides

    def moved(self):
        """Return how far the technique moves what the control shows, whichever way.

        The mean over vignettes of the absolute difference of the two signed contrasts, so that vignettes that are moved
        to either side do not cancel; corrected, as a loss is, for what noise adds to an absolute value. Of losses of
        one contrast alone (`DomainLosses.signed`).

        Returns
        -------
        numpy.ndarray, shape (n LLMs,)
            In the unit of the goal.
        """
        signed, variance = self._domain.signed(self.goal), self._domain.by_goal(self.goal).variance
        difference = signed[..., self._k] - signed[..., self._c]
        error = np.sqrt(variance[..., self._k] + variance[..., self._c])
        return self._mean(np.abs(difference) - folding_excess(difference, error))

    def attrition_bounds(self):
        """Bounds of the observed gain had every trial been answered with a valid number.

        Returns
        -------
        tuple of numpy.ndarray, shape (n LLMs,)
            The least and the most, in the unit of the goal; infinite where a vignette's valid range has no end.

        References
        ----------
        Manski (1990), Nonparametric bounds on treatment effects, American Economic Review 80(2), 319-323.
        """
        least, most = self._domain.attrition_bounds(self.goal)
        low = self._mean(least[..., self._c]) - self._mean(most[..., self._k])
        high = self._mean(most[..., self._c]) - self._mean(least[..., self._k])
        return low, high

    def had_all_answered(self):
        """Return the least and the most that `values` could be had every trial been answered.

        Returns
        -------
        tuple of numpy.ndarray, shape (n LLMs,)
            As of `attrition_bounds`, less what the correction of an absolute value takes off.
        """
        seen = self.loss_control - self.loss
        return tuple(self.values + bound - seen for bound in self.attrition_bounds())

    def _bounds(self, weights, level):
        loss, moments = self._domain.by_goal(self.goal), self._domain.moments
        among = weights > 0

        def cells(values):
            technique, control = values[self._rows][..., self._k], values[self._rows][..., self._c]
            return technique[among], control[among]

        weights = weights[among]
        (t, c), (t_low, c_low), (t_high, c_high) = map(cells, (loss.corrected, loss.bias_low, loss.bias_high))
        centre = weights @ (c - t)
        bias_low, bias_high = weights @ (c_low - t_high), weights @ (c_high - t_low)
        own, per_df, slope = (cells(values) for values in (loss.variance, loss.variance_per_df, loss.slope))
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
