"""Contrasts of arms where the same items are put to many LLMs: how sure they are over LLMs, over items, and over both.

Everything is made of how many trials each LLM has on each item in each arm, and of the sums of their values, so that
more trials per cell cost nothing here. A contrast is the mean of one arm less that of the other.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.methods.contrasts import ROUNDING
from analysis.methods.crossed_reml import components, n_left
from analysis.methods.effect_sizes import noncentral_t_bounds
from analysis.methods.small_samples import CONFIDENCE, Interval
from analysis.methods.t_and_f_tests import satterthwaite_df, t_bounds, two_sided_p
from analysis.tables import first_reason

PAIRINGS = ("item", "between")
WEIGHTINGS = ("llm", "trial")
BALANCED = "crossed_anova"
UNBALANCED = "crossed_reml"


@dataclass(frozen=True)
class Arm:
    """Trials of one arm by LLM and item: how many, the sum of their values and, where needed, that of the squares.

    Arrays of shape (..., n LLMs, n items); the two arms of a contrast have the same LLMs and items in the same order.
    """

    n: np.ndarray
    total: np.ndarray
    squares: np.ndarray | None = None

    def at(self, key):
        """Return the same of some LLMs, or of one technique."""
        return Arm(self.n[key], self.total[key], None if self.squares is None else self.squares[key])

    @property
    def means(self):
        """Mean value of each cell, 0 where there is no trial."""
        return np.divide(self.total, self.n, out=np.zeros(np.shape(self.n)), where=np.asarray(self.n) > 0)

    @property
    def trial_variance(self):
        """Variance of the mean of each cell from its own trials, NaN where there are fewer than two."""
        n, means = np.asarray(self.n, float), self.means
        squares = np.asarray(self.squares, float) - n * means**2
        squares = np.where(squares <= ROUNDING * np.abs(self.squares), 0.0, squares)
        return np.divide(squares, (n - 1) * n, out=np.full(n.shape, np.nan), where=n > 1)


@dataclass(frozen=True)
class Level(Interval):
    """An interval with its standard error and the two-sided p value of no contrast; all null where `reason` is set."""

    standard_error: float | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class Crossed:
    """A contrast of two arms, or the mean of one.

    Attributes
    ----------
    estimate : float or None
        In the unit of the values.
    n_llms, n_items, n_trials : int
        Of what enters.
    method : str or None
        Of `both`: `BALANCED` or `UNBALANCED`.
    over_llms, over_items, both : Level
        For LLMs that were not asked, on these items; for items that were not put, to these LLMs; for both, which is
        the headline.
    rest : float
        The variance that counts in `over_llms` and in `over_items`, and once in `both`.
    """

    estimate: float | None
    n_llms: int
    n_items: int
    n_trials: int
    method: str | None
    over_llms: Level
    over_items: Level
    both: Level
    rest: float = 0.0


def crossed_contrast(arm, arm_b=None, *, pairing="item", weighting="llm", confidence=CONFIDENCE):
    """Estimate a contrast of arms over LLMs and items that are crossed, with intervals over either and over both.

    Balanced, which is every LLM on every item with cells that weigh the same, the variance over both is
    (MS_llm + MS_item - MS_rest) / (LLMs · items). Otherwise it is made of the variances of LLMs, items and cells that
    are most likely (REML). It is not below that over LLMs or over items alone, and has Satterthwaite's degrees of
    freedom. Over LLMs or items alone it is that of what each of them adds to the estimate.

    Parameters
    ----------
    arm, arm_b : Arm
        Shape (n LLMs, n items). Without `arm_b` it is the mean of `arm`.
    pairing : {'item', 'between'}
        Whether only cells with both arms count, or each arm has items of its own; then only LLMs with both arms count.
    weighting : {'llm', 'trial'}
        Whether each LLM counts the same, and each item within it, or each trial of an arm.
    confidence : float in (0, 1)

    Returns
    -------
    Crossed
        Bounds are null with a reason: `no_pair` (nothing has both arms), `one_llm`, `one_item` (of an arm, where they
        do not share items), `zero_variance`.

    Raises
    ------
    ValueError
        If the shapes differ or a word is not known.

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2(6). Searle, Casella & McCulloch (1992), Variance Components, section
    4.3, for the mean squares of the two-way crossed classification. Those of `analysis.methods.crossed_reml`.
    """
    if pairing not in PAIRINGS or weighting not in WEIGHTINGS:
        raise ValueError(f"need a pairing of {PAIRINGS} and a weighting of {WEIGHTINGS}, got {pairing} and {weighting}")
    arms = [arm] if arm_b is None else [arm, arm_b]
    counts = [np.asarray(one.n, float) for one in arms]
    if any(n.ndim != 2 or n.shape != counts[0].shape for n in counts):
        raise ValueError(f"need arms by LLM and item alike, got {[n.shape for n in counts]}")
    counts = entering(counts, pairing)
    llms, items = (sum(counts).any(axis=axis) for axis in (1, 0))
    if not llms.any():
        nothing = Level(None, None, None, reason="no_pair")
        return Crossed(None, 0, 0, 0, None, nothing, nothing, nothing)
    counts = [n[llms][:, items] for n in counts]
    means = [one.means[llms][:, items] for one in arms]
    weights = [cell_weights(n, weighting) for n in counts]
    estimates = [float((weight * mean).sum()) for weight, mean in zip(weights, means, strict=True)]
    centred = [weight * (mean - centre) for weight, mean, centre in zip(weights, means, estimates, strict=True)]
    scores, estimate = centred[0] - sum(centred[1:]), estimates[0] - sum(estimates[1:])
    groups, is_balanced = design(weights)
    # bounds of rounding: scores are weighted, so that their sums are as large as the means are
    scale = max(float(np.abs(mean[n > 0]).max()) for n, mean in zip(counts, means, strict=True))
    one_llm, one_item = len(scores) < 2, min(len(group) for group in groups) < 2
    lacks = {"over_llms": {"one_llm": one_llm}, "over_items": {"one_item": one_item}}
    lacks["both"] = lacks["over_llms"] | lacks["over_items"]
    errors = crossed_errors(scores, sum(weights), groups, is_balanced=is_balanced)
    rest = float(errors.pop("rest"))
    levels = {
        name: level_of(estimate, *errors[name], scale=scale, confidence=confidence, lacks=lacks[name])
        for name in errors
    }
    n_trials = int(sum(n.sum() for n in counts))
    return Crossed(estimate, *scores.shape, n_trials, BALANCED if is_balanced else UNBALANCED, **levels, rest=rest)


def entering(counts, pairing):
    """Return the trials of each arm that enter a contrast, 0 elsewhere; arrays of shape (..., n LLMs, n items)."""
    has = [n > 0 for n in counts]
    if pairing == "between":
        has = [of_arm.any(axis=-1, keepdims=True) for of_arm in has]
    return [np.where(np.logical_and.reduce(has), n, 0.0) for n in counts]


def cell_weights(n, weighting):
    """Return how much each cell of an arm counts: shares that sum to 1 over all LLMs and items."""
    if weighting == "trial":
        return n / n.sum()
    has = n > 0
    return has / has.sum(axis=-1, keepdims=True) / len(n)


def design(weights):
    """Return the items of each independent group, and whether every LLM has all of them and cells weigh the same.

    Parameters
    ----------
    weights : list of numpy.ndarray, shape (n LLMs, n items)
        Of the cells of each arm, which has each LLM somewhere, and each item in some arm.

    Returns
    -------
    groups : list of numpy.ndarray of int
        One of all items where the arms share some, and otherwise one for each arm.
    is_balanced : bool
    """
    of_arms = [np.flatnonzero(weight.any(axis=0)) for weight in weights]
    is_nested = len(of_arms) == 2 and not np.intersect1d(*of_arms).size
    groups = of_arms if is_nested else [np.arange(weights[0].shape[1])]
    of_weights = groups if is_nested else groups * len(weights)
    is_balanced = all((one[:, group] == one[0, group[0]]).all() for one, group in zip(weights, of_weights, strict=True))
    return groups, is_balanced


def crossed_errors(scores, weights, groups, *, is_balanced):
    """Variance of a crossed mean over LLMs, over items and over both, each with its degrees of freedom.

    Parameters
    ----------
    scores : numpy.ndarray, shape (..., n LLMs, n items)
        What each cell adds to the estimate, less what it would add if it were as the mean: weight · (value - mean).
    weights : numpy.ndarray, shape (n LLMs, n items)
        Of the cells, of all arms together; 0 where there is no cell.
    groups : list of numpy.ndarray of int
        Items of each independent group, as of `design`.
    is_balanced : bool

    Returns
    -------
    dict
        `over_llms`, `over_items` and `both`: variance and degrees of freedom, of shape (...), not finite where there
        are fewer than two LLMs or items. `rest`: the variance that the first two share.
    """
    n_llms, sizes = scores.shape[-2], np.array([len(group) for group in groups])
    of_items = scores.sum(axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        llms = np.divide(n_llms, n_llms - 1.0) * (scores.sum(axis=-1) ** 2).sum(axis=-1)
        by_group = [
            np.divide(len(group), len(group) - 1.0) * (of_items[..., group] ** 2).sum(axis=-1) for group in groups
        ]
        items, df_llms = sum(by_group), np.full(llms.shape, n_llms - 1.0)
        df_items = satterthwaite_df(by_group, _along(sizes - 1.0, llms))
        if is_balanced or min(n_llms, *sizes) < 2:
            rests = [_rest(scores[..., group]) for group in groups]
            both, rest = error_over_both(llms, by_group, rests, n_llms, sizes), sum(rests)
        else:
            likely, df = _most_likely(scores, weights, groups, (llms, df_llms), (items, df_items))
            greater, df_greater = np.maximum(llms, items), np.where(llms >= items, df_llms, df_items)
            both = np.maximum(likely, greater), np.where(likely < greater, df_greater, df)
            rest = np.maximum(llms + items - both[0], 0.0)
    return {"over_llms": (llms, df_llms), "over_items": (items, df_items), "both": both, "rest": rest}


def error_over_both(llms, by_group, rests, n_llms, sizes):
    """Variance of a balanced crossed mean over LLMs and items, and its degrees of freedom.

    Parameters
    ----------
    llms : numpy.ndarray, shape (...)
        Variance over LLMs.
    by_group : list of numpy.ndarray, shape (...)
        Variance over the items of each independent group.
    rests : list of numpy.ndarray, shape (...)
        What counts in both.
    n_llms : int
    sizes : numpy.ndarray
        Items of each group.

    Returns
    -------
    tuple of numpy.ndarray, shape (...)
        As of `crossed_errors`.
    """
    terms, items = [llms, *by_group, *(-rest for rest in rests)], sum(by_group)
    both, greater = sum(terms), np.maximum(llms, items)
    with np.errstate(divide="ignore", invalid="ignore"):
        dfs = [n_llms - 1.0, *(sizes - 1.0), *((n_llms - 1.0) * (sizes - 1.0))]
        df = satterthwaite_df(terms, _along(np.array(dfs), llms))
        df_greater = np.where(llms >= items, n_llms - 1.0, satterthwaite_df(by_group, _along(sizes - 1.0, llms)))
    return np.maximum(both, greater), np.where(both <= (1 + ROUNDING) * greater, df_greater, df)


@dataclass(frozen=True)
class ItemSpread:
    """How far items lie apart in what they show of all LLMs: `sd` of the items, less what noise adds to it."""

    sd: float | None = None
    statistic: float | None = None
    p_value: float | None = None
    reason: str | None = None


def spread_of_items(values):
    """Test whether items show the same, whatever the LLM: a mean of 0 may hide items that go opposite ways.

    Parameters
    ----------
    values : array_like, shape (n LLMs, n items)
        Such as the contrast of each LLM and item; NaN where there is none.

    Returns
    -------
    ItemSpread
        The F test of items in the two-way analysis of variance of items and LLMs, each adjusted for the other, and
        the standard deviation of items from its mean squares, 0 where those are smaller than noise alone leaves. Null
        with a reason: `one_llm`, `one_item`, `too_few_cells`, `zero_variance` of what LLMs and items leave.

    References
    ----------
    Searle (1971), Linear Models, chapter 7, for unbalanced data; Searle, Casella & McCulloch (1992), Variance
    Components, section 4.3, for the standard deviation.
    """
    values = np.asarray(values, float)
    has = ~np.isnan(values)
    values, has = (array[has.any(axis=1)][:, has.any(axis=0)] for array in (values, has))
    (llm, item), flat = np.nonzero(has), values[has]
    n_llms, n_items = values.shape
    reason = first_reason(one_llm=n_llms < 2, one_item=n_items < 2)
    if reason:
        return ItemSpread(reason=reason)
    per_item = np.bincount(item)

    def without_items(column):
        return column - (np.bincount(item, column) / per_item)[item]

    left = without_items(flat)
    of_llms = np.stack([without_items((llm == place).astype(float)) for place in range(n_llms)], axis=1)
    effects, _, rank, _ = np.linalg.lstsq(of_llms, left)
    # as many LLMs have no effect of their own as there are groups of LLMs that share no item with the others
    df, df_rest = n_items - n_llms + rank, len(flat) - n_items - rank
    if df < 1 or df_rest < 1:
        return ItemSpread(reason="too_few_cells")
    squares_rest = ((left - of_llms @ effects) ** 2).sum()
    if squares_rest <= len(flat) * (ROUNDING * np.abs(flat).max()) ** 2:
        return ItemSpread(reason="zero_variance")
    without_llms = flat - (np.bincount(llm, flat) / np.bincount(llm))[llm]
    of_items, of_rest = ((without_llms**2).sum() - squares_rest) / df, squares_rest / df_rest
    sd = np.sqrt(max(0.0, of_items - of_rest) / per_item.mean())
    statistic = max(0.0, of_items / of_rest)
    return ItemSpread(float(sd), float(statistic), float(special.fdtrc(df, df_rest, statistic)))


@dataclass(frozen=True)
class SignedContrasts:
    """Contrasts of single LLMs, arrays of shape (...): what `DomainLosses.of_contrasts` makes losses of.

    `variance` is that of `signed`, known with `df`; both are NaN where a cell has one item with one trial. `noise` is
    what of it is from trials, on these items; NaN where no item was asked twice. `n` is the number of trials.
    """

    signed: np.ndarray
    variance: np.ndarray
    df: np.ndarray
    noise: np.ndarray
    n: np.ndarray


def signed_contrasts(arm, arm_b=None, *, pairing="item"):
    """Contrast two arms in each LLM, vignette and technique, with the variance that its items or trials show.

    With two items or more, these are the sample: the variance is that of the differences within items, or of the means
    of the items of each arm. With one item, it is that of the trials.

    Parameters
    ----------
    arm, arm_b : Arm
        Shape (..., n items), with `squares`. Without `arm_b` it is the mean of `arm`.
    pairing : {'item', 'between'}

    Returns
    -------
    SignedContrasts
        Of shape (...), NaN where there is no contrast.
    """
    if pairing not in PAIRINGS:
        raise ValueError(f"need a pairing of {PAIRINGS}, got {pairing}")
    if arm_b is None:
        counts = np.asarray(arm.n, float)
        return SignedContrasts(*_over_items(counts, arm), _of_trials(counts, arm), counts.sum(axis=-1))
    counts = entering([np.asarray(one.n, float) for one in (arm, arm_b)], pairing)
    n_items = [np.count_nonzero(n, axis=-1) for n in counts]
    of_arms = [_over_items(n, one) for n, one in zip(counts, (arm, arm_b), strict=True)]
    (mean, _, _), (mean_b, _, _) = of_arms
    variances, dfs = (np.array(parts) for parts in zip(*(arm_parts[1:] for arm_parts in of_arms), strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = variances.sum(axis=0)
        df = np.where(variance > 0, variance**2 / np.where(variances > 0, variances**2 / dfs, 0.0).sum(axis=0), np.nan)
    if pairing == "item":
        difference = Arm((counts[0] > 0).astype(float), np.where(counts[0] > 0, arm.means - arm_b.means, 0.0))
        _, over_items, df_items = _over_items(difference.n, difference)
        variance, df = (
            np.where(n_items[0] > 1, pair, apart) for pair, apart in ((over_items, variance), (df_items, df))
        )
    noise = sum(_of_trials(n, one) for n, one in zip(counts, (arm, arm_b), strict=True))
    return SignedContrasts(mean - mean_b, variance, df, noise, sum(n.sum(axis=-1) for n in counts))


def signed_bounds(arms, asked_counts, *, pairing="item", least=-np.inf, most=np.inf):
    """Say how small and how large contrasts of single LLMs could be, had every trial been answered.

    Parameters
    ----------
    arms : list of Arm
        One or two, of shape (..., n items): what was answered.
    asked_counts : list of array_like
        For each of them, of the same shape, the trials that were put, answered or not.
    pairing : {'item', 'between'}
        Under `item`, items enter that were put in both arms.
    least, most : float
        Between what a value can be; without an end nothing bounds a contrast that lacks an answer.

    Returns
    -------
    tuple of numpy.ndarray
        The least and the most contrast, shape (...): the answers that are missing in one arm are at one end and those
        in the other arm, where there is one, at the other. NaN where an arm was not put.

    References
    ----------
    Manski (1990), Nonparametric bounds on treatment effects, American Economic Review 80(2), 319-323.
    """
    counts = entering([np.asarray(array, float) for array in asked_counts], pairing)
    ends = []
    for n, one in zip(counts, arms, strict=True):
        has, missing = n > 0, n - np.where(n > 0, one.n, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = (one.total + np.where(missing > 0, missing * end, 0.0) for end in (least, most))
            ends.append([np.where(has, total / n, 0.0).sum(axis=-1) / has.sum(axis=-1) for total in sums])
    (low, high), *others = ends
    return low - sum(high_b for _, high_b in others), high - sum(low_b for low_b, _ in others)


@dataclass(frozen=True)
class PairedT(Level):
    """Mean of paired differences with Student's t, and d_z: the mean over the standard deviation of the differences."""

    n_pairs: int = 0
    d_z: float | None = None
    d_z_low: float | None = None
    d_z_high: float | None = None


def paired_t(differences, *, confidence=CONFIDENCE):
    """Student's t test of paired differences, with d_z.

    Parameters
    ----------
    differences : array_like, shape (n,)
        One for each pair, such as the contrast of each item or of each LLM; NaN where there is no pair.
    confidence : float in (0, 1)

    Returns
    -------
    PairedT
        Null with a reason: `no_pair`, `one_pair`, `zero_variance`; `noncentral_t_not_invertible` of d_z's bounds alone.

    References
    ----------
    Lakens (2013), Calculating and reporting effect sizes to facilitate cumulative science, Frontiers in Psychology 4,
    863, equation 7, for d_z. Steiger & Fouladi (1997), in: What if there were no significance tests?, chapter 9.
    """
    values = np.asarray(differences, float)
    values = values[~np.isnan(values)]
    n = len(values)
    if not n:
        return PairedT(None, None, None, reason="no_pair")
    scale, variance = np.abs(values).max(), values.var(ddof=1) / n if n > 1 else 0.0
    level = level_of(
        float(values.mean()), variance, n - 1.0, scale=scale, confidence=confidence, lacks={"one_pair": n < 2}
    )
    if level.reason:
        return PairedT(**vars(level), n_pairs=n)
    statistic = level.estimate / level.standard_error
    shifts = [statistic, *noncentral_t_bounds(statistic, level.df, confidence)]
    reason = None if np.isfinite(shifts).all() else "noncentral_t_not_invertible"
    effects = dict(zip(("d_z", "d_z_low", "d_z_high"), shifts / np.sqrt(n), strict=True))
    return PairedT(**vars(level) | {"reason": reason}, n_pairs=n, **effects)


@dataclass(frozen=True)
class McNemar:
    """Pairs of yes or no that differ, and how surprising their split is if neither arm says yes more often."""

    n_only_a: int
    n_only_b: int
    p_exact: float | None
    p_mid: float | None
    reason: str | None = None


def mcnemar(n_only_a, n_only_b):
    """Test whether two arms say yes as often, from the pairs in which just one of them does.

    Parameters
    ----------
    n_only_a, n_only_b : int
        Pairs with a yes in the first arm alone, and in the second alone.

    Returns
    -------
    McNemar
        Two-sided p values: the exact one, and mid-p, which counts half of the split that was seen and is less timid.
        Null with the reason `no_discordant_pair` where both are 0.

    References
    ----------
    McNemar (1947), Psychometrika 12(2), 153-157. Fagerland, Lydersen & Laake (2013), The McNemar test for binary
    matched-pairs data: mid-p and asymptotic are better than exact conditional, BMC Medical Research Methodology 13, 91.
    """
    n, fewer = n_only_a + n_only_b, min(n_only_a, n_only_b)
    if n_only_a < 0 or n_only_b < 0:
        raise ValueError(f"need counts, got {n_only_a} and {n_only_b}")
    if not n:
        return McNemar(0, 0, None, None, "no_discordant_pair")
    at_most = float(special.bdtr(fewer, n, 0.5))
    fewer_still = float(special.bdtr(fewer - 1, n, 0.5)) if fewer else 0.0
    # with as many on each side both tails hold the split that was seen, and mid-p is 1
    return McNemar(n_only_a, n_only_b, min(1.0, 2 * at_most), min(1.0, at_most + fewer_still))


def level_of(estimate, variance, df, *, scale, confidence, lacks):
    """Return the interval of an estimate at one level of variance, as a `Level`.

    Parameters
    ----------
    estimate, variance, df : float
        As of `crossed_errors`.
    scale : float
        How large the values are that were averaged: a variance within their rounding counts as none.
    confidence : float in (0, 1)
    lacks : dict of str to bool
        Reasons for which there is no interval, where they hold.
    """
    reason = first_reason(**lacks)
    if reason is None and not variance > (ROUNDING * scale) ** 2:
        reason = "zero_variance"
    if reason:
        return Level(estimate, None, None, reason=reason)
    error, df = float(np.sqrt(variance)), float(df)
    low, high = t_bounds(estimate, error, df, confidence)
    return Level(estimate, low, high, df, standard_error=error, p_value=two_sided_p(estimate / error, df))


def _along(values, like):
    """Values along a new first axis, to go with arrays of the shape of `like`."""
    return values.reshape(-1, *[1] * np.ndim(like))


def _most_likely(scores, weights, groups, over_llms, over_items):
    """Variance over LLMs and items from the most likely variances of the cells, and its degrees of freedom.

    Of groups of items, what an LLM adds to each of them goes together in a way that the single groups do not show; then
    the variance over LLMs is the one given, and each group adds that of its items. Where LLMs and items explain any
    values, what is left counts over LLMs and over items.
    """
    if any(n_left(weights[:, group] > 0) < 1 for group in groups):
        variances, dfs = (np.array(values) for values in zip(over_llms, over_items, strict=True))
        return variances.sum(axis=0), dfs.min(axis=0)
    parts = [over_llms]
    for group in groups:
        own = weights[:, group]
        has = own > 0
        found = components(scores[..., group] / np.where(has, own, 1.0), has)
        of_llms, of_items, of_cells = (own.sum(axis=1) ** 2).sum(), (own.sum(axis=0) ** 2).sum(), (own**2).sum()
        if len(groups) == 1:
            return found.of_mean([of_llms, of_items, of_cells])
        parts.append(found.of_mean([0.0, of_items, 0.0]))
    variances, dfs = (np.array(values) for values in zip(*parts, strict=True))
    return variances.sum(axis=0), satterthwaite_df(variances, np.where(variances > 0, dfs, 1.0))


def _rest(scores):
    """MS_rest / (LLMs · items) of the cells whose scores these are."""
    n_llms, n_items = scores.shape[-2:]
    of_llms, of_items = (scores.mean(axis=axis, keepdims=True) for axis in (-1, -2))
    left = scores - of_llms - of_items + of_llms.mean(axis=-2, keepdims=True)
    return np.divide(n_llms * n_items, (n_llms - 1.0) * (n_items - 1.0)) * (left**2).sum(axis=(-2, -1))


def _of_trials(counts, arm):
    """Variance of the mean over the items of an arm from trials alone; one trial varies as those of other items do."""
    if arm.squares is None:
        return np.full(counts.shape[:-1], np.nan)
    several = counts > 1
    variances = np.where(several, arm.trial_variance, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (variances * counts * (counts - 1)).sum(axis=-1) / np.where(several, counts - 1, 0.0).sum(axis=-1)
        of_items = np.where(several, variances, np.where(counts > 0, pooled[..., None], 0.0))
        return of_items.sum(axis=-1) / (counts > 0).sum(axis=-1) ** 2


def _over_items(counts, arm):
    """Mean over the items of an arm, its variance and degrees of freedom; from the trials where there is one item."""
    has = counts > 0
    n_items = has.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(has, arm.means, 0.0).sum(axis=-1) / n_items
        squares = np.where(has, (arm.means - mean[..., None]) ** 2, 0.0).sum(axis=-1)
        variance, df = squares / (n_items - 1) / n_items, n_items - 1.0
    variance = np.where(n_items > 1, variance, np.nan)
    if arm.squares is not None:
        of_trials = np.where(has, arm.trial_variance, 0.0).sum(axis=-1)
        variance, df = np.where(n_items == 1, of_trials, variance), np.where(n_items == 1, counts.sum(axis=-1) - 1, df)
    return mean, variance, df
