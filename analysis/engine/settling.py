"""`inference.power`, design `to_settle`: what it would take to decide what is open."""

import math
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from scipy import special

from analysis.engine.comparisons import compared
from analysis.engine.decisions import mean_decision, pairs_of
from analysis.engine.guards import cannot_stand, stood
from analysis.engine.rule import decide, one_sided
from analysis.methods.crossed_effects import BALANCED, error_over_both
from analysis.methods.small_samples import FEWEST_LLMS

MOST = 2**53  # more could not be counted exactly
UNREACHABLE = {
    "needed_llms": "not_reachable_with_llms",
    "needed_items": "not_reachable_with_items",
    "needed_trials": "not_reachable_with_trials",
}


@dataclass(frozen=True)
class Uncertainty:
    """What makes a mean gain of LLMs uncertain.

    Attributes
    ----------
    n_llms : int
    between, within : float
        Variance of the true gains of LLMs, and of what the trials and items of an LLM leave uncertain in its gain.
    n_items : int or None
        How many, where items are a sample too.
    over_llms, over_items, rest : float
        Then the variances of the mean over LLMs and over items, and what counts in both, as of
        `analysis.methods.crossed_effects.Crossed`.
    is_balanced : bool
        Whether each LLM was put each item as often.
    """

    n_llms: int
    between: float
    within: float
    n_items: int | None = None
    over_llms: float = 0.0
    over_items: float = 0.0
    rest: float = 0.0
    is_balanced: bool = False

    def with_llms(self, n_llms):
        """Return the same of another number of LLMs, which leaves what items alone differ by.

        Parameters
        ----------
        n_llms : int

        Returns
        -------
        Uncertainty
        """
        share = self.n_llms / n_llms
        over_items = _part_scaled(self.over_items, self.rest, share)
        over_llms, rest = share * self.over_llms, share * self.rest
        return replace(self, n_llms=n_llms, over_llms=over_llms, over_items=over_items, rest=rest)

    def with_more(self, times):
        """Return the same with so many times the items, or trials in each cell where items are no sample.

        Parameters
        ----------
        times : float

        Returns
        -------
        Uncertainty
        """
        n_items = None if self.n_items is None else max(2, round(times * self.n_items))
        over_llms = _part_scaled(self.over_llms, self.rest, 1 / times)
        within, over_items, rest = (part / times for part in (self.within, self.over_items, self.rest))
        return replace(self, n_items=n_items, within=within, over_llms=over_llms, over_items=over_items, rest=rest)

    def half_width(self, level):
        """Return half the width of the interval of the mean gain, as `analysis.engine.guards` has it.

        Parameters
        ----------
        level : float
            One-sided.

        Returns
        -------
        float
            In the unit of the gains.
        """
        variance = (self.between + self.within) / self.n_llms
        half = special.stdtrit(self.n_llms - 1, 1 - level) * math.sqrt(variance)
        if self.n_items is None:
            return float(half)
        variance, df = error_over_both(
            self.over_llms, [self.over_items], [self.rest], self.n_llms, np.array([self.n_items]),
            is_balanced=self.is_balanced,
        )  # fmt: skip
        return float(max(half, special.stdtrit(df, 1 - level) * np.sqrt(variance)))


def to_settle_rows(questions, ranked, controls, costs, prices):
    """Say of each open decision over LLMs how many of them, and how many items or trials, would settle it.

    Settled is a decision whose interval, as of `analysis.engine.rule`, excludes 0 or lies within the margin, were the
    mean gain and the variances what they are now. The variance of the mean of G LLMs is (between + within n0 / n) / G,
    with n trials in each cell (of the baseline too) or n items where there are n0 now; `between` is the variance of the
    LLMs' gains less the mean of what their trials leave uncertain in them. What it leaves, no number of trials can
    remove. Where items are a sample too the interval is not narrower than that over LLMs and items, whose variance has
    a part that no number of LLMs removes. A word that could not stand now (`analysis.engine.guards`) settles nothing.

    Parameters
    ----------
    questions : iterable of Question
    ranked : collection of str
    controls : pandas.DataFrame
        As of `analysis.engine.answers.answer_rows`.
    costs : pandas.DataFrame
        `study, llm, technique, cost_usd_per_trial, tokens_in_per_trial, tokens_out_per_trial` of
        `marts.technique_costs`.
    prices : pandas.DataFrame
        `llm, usd_per_million_tokens_in, usd_per_million_tokens_out`.

    Yields
    ------
    dict
        Rows of `analysis.methods.power.COLUMNS`: two of each open decision against the control. `needed_llms` counts
        those that there are, with as many items and trials of each as now; `needed_items` are put to as many LLMs as
        now, and `needed_trials` are of each LLM, vignette, technique and arm, with as many LLMs as now. `cost_usd` is
        of what is added to the technique and its control, baselines not included.
    """
    usd = cache(partial(_usd, costs, prices))
    for question in questions:
        study, basis = question.keys["study"], question.basis
        gains, n_by_kind = compared(basis, pairs_of(question, ranked, controls))
        n_comparisons = n_by_kind["control"]
        for pair, by_llm in gains.items():
            if pair.kind != "control" or not by_llm.llms:
                continue
            row, codes = mean_decision(pair, by_llm, basis, n_comparisons)
            row, _ = stood(row, by_llm, basis)
            if row["decision"] != "no_evidence":
                continue
            level = one_sided(n_comparisons)
            per_trial = sum(usd(study, name) for name in (pair.technique, pair.control))
            keys = question.keys | {"technique_a": pair.technique, "technique_b": pair.control, "alpha": 2 * level}
            reason = next((code for code in codes if code in ("one_llm", "zero_variance")), None)
            yield from (keys | columns for columns in _settling(row, by_llm, basis, level, per_trial, reason))


def fewest(is_enough, least):
    """Return the smallest count from `least` on that is enough, if more always are where fewer are.

    Parameters
    ----------
    is_enough : callable
        From a count to bool.
    least : int

    Returns
    -------
    int or None
        None where no number that can be counted is.
    """
    low, high = least - 1, least
    while not is_enough(high):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def needed_llms(gain, uncertainty, *, level, margin, forbidden=()):
    """Return the fewest LLMs that settle a mean gain, at least `FEWEST_LLMS` and more than now, or None.

    Parameters
    ----------
    gain : float
    uncertainty : Uncertainty
        As it is now.
    level : float
        One-sided.
    margin : float
    forbidden : collection of str
        Words that settle nothing.

    Returns
    -------
    int or None
        None where no number does.
    """
    least = max(FEWEST_LLMS, uncertainty.n_llms + 1)
    return _needed(gain, uncertainty.with_llms, least, level, margin, forbidden)


def needed_more(gain, uncertainty, n_now, *, level, margin, forbidden=()):
    """Return the fewest items, or trials of a cell, that settle a mean gain of as many LLMs as now.

    Parameters
    ----------
    gain : float
    uncertainty : Uncertainty
        As it is now.
    n_now : float
        The items, or the trials of a cell, that there are.
    level : float
        One-sided.
    margin : float
    forbidden : collection of str
        Words that settle nothing.

    Returns
    -------
    int or None
        At least 2 and more than now; None where what LLMs differ by is too much for so few, or there are fewer than
        `FEWEST_LLMS`.
    """
    if uncertainty.n_llms < FEWEST_LLMS:
        return None
    least = max(2, math.floor(n_now) + 1)
    return _needed(gain, lambda n: uncertainty.with_more(n / n_now), least, level, margin, forbidden)


def settles(gain, uncertainty, *, level, margin):
    """Return what is decided of a mean gain that is so uncertain.

    Parameters
    ----------
    gain : float
    uncertainty : Uncertainty
    level : float
        One-sided.
    margin : float
        In the unit of the gain.

    Returns
    -------
    {'use', 'avoid', 'equivalent'} or None
        None where it is open.
    """
    half = uncertainty.half_width(level)
    decision = decide(gain - half, gain + half, margin=margin)
    return None if decision == "no_evidence" else decision


def uncertainty(gains, mean):
    """Return what makes a mean gain of LLMs uncertain.

    Parameters
    ----------
    gains : Gains
    mean : Crossed or None
        The mean over LLMs and items, where items are a sample too.

    Returns
    -------
    Uncertainty
    """
    variance = float(gains.values.var(ddof=1))
    within = min(float(gains.variances.mean()), variance)  # no more is to be won than there is
    now = Uncertainty(len(gains.llms), variance - within, within)
    if not mean:
        return now
    llms, items = ((level.standard_error or 0.0) ** 2 for level in (mean.over_llms, mean.over_items))
    is_balanced = mean.method == BALANCED
    return replace(now, n_items=mean.n_items, over_llms=llms, over_items=items, rest=mean.rest, is_balanced=is_balanced)


def _needed(gain, with_number, least, level, margin, forbidden):
    """The fewest that settle it; None also where the word that they come to is one that settles nothing."""
    # where no difference is not to be said, an interval that excludes 0 is enough, and one within no margin is not
    width = 0.0 if "equivalent" in forbidden else margin

    def is_enough(n):
        return settles(gain, with_number(n), level=level, margin=width) not in {None, *forbidden}

    n = fewest(is_enough, least)
    return n if n and settles(gain, with_number(n), level=level, margin=margin) not in forbidden else None


def _settling(row, gains, basis, level, usd_per_trial, reason):
    """Return the two rows of an open decision."""
    n_llms, gain = len(gains.llms), float(row["gain"])
    shared = {
        "design": "to_settle", "level": "llm", "row_set": "accepted", "baseline_scope": "pooled", "gain": gain,
        "n_llms": n_llms, "n_trials": gains.n_trials, "method": row["method"],
    }  # fmt: skip
    mean = basis.items and basis.items.over_both(basis.items.gain(row["technique"], row["control"]))
    quantity = "needed_items" if mean else "needed_trials"
    if reason:
        yield from (shared | {"quantity": name, "reason": reason} for name in ("needed_llms", quantity))
        return
    now = uncertainty(gains, mean)
    shared |= {"between_variance": now.between, "within_variance": now.within}
    n_now = mean.n_items if mean else gains.n_trials / (2 * basis.n_arms * int(gains.used.sum()))
    shared |= {"n_trials_per_cell": n_now} if not mean else {
        "n_items": n_now, "over_llms_variance": now.over_llms, "over_items_variance": now.over_items,
        "rest_variance": now.rest,
    }  # fmt: skip
    options, guards = {"level": level, "margin": basis.margin}, cannot_stand(row, gains, basis)
    searches = {
        "needed_llms": (n_llms, now.with_llms, partial(needed_llms, gain, now, **options)),
        quantity: (n_now, lambda n: now.with_more(n / n_now), partial(needed_more, gain, now, n_now, **options)),
    }
    for name, (count, with_number, search) in searches.items():
        needed = search(forbidden=guards)
        if needed is None:
            unguarded = search() if guards else None
            # without a gain and without a margin no number is enough
            hopeless = name == "needed_llms" and not mean
            reason = "effect_too_small" if hopeless else UNREACHABLE[name]
            if unguarded:
                reason = guards.get(settles(gain, with_number(unguarded), **options), reason)
            yield shared | {"quantity": name, "reason": reason}
            continue
        wanted = with_number(needed)
        reached = {"half_width": wanted.half_width(level), "settles": settles(gain, wanted, **options)}
        cost = _cost(needed / count, gains.n_trials, usd_per_trial)
        yield shared | {"quantity": name, name: needed, **reached, **cost}


def _part_scaled(variance, rest, share):
    """Return a variance of which only what the rest adds to it is multiplied by a share."""
    return max(variance - rest, 0.0) + share * min(variance, rest)


def _cost(times, n_trials, usd_of_one_each):
    """Return the cost of so many times the trials, less those that there are; half of them are of the control."""
    if math.isnan(usd_of_one_each):
        return {"reason": "cost_unknown"}
    return {"cost_usd": (times - 1) * n_trials / 2 * usd_of_one_each}


def _usd(costs, prices, study, technique):
    """Say what a trial costs: as it did in this study, else the tokens it took elsewhere at the prices of today."""
    of_technique = costs[costs["technique"] == technique]
    here = of_technique.loc[of_technique["study"] == study, "cost_usd_per_trial"].dropna()
    if len(here):
        return float(here.mean())
    elsewhere = of_technique[~of_technique["llm"].str.startswith("sim/")].dropna(
        subset=["tokens_in_per_trial", "tokens_out_per_trial"]
    )
    if elsewhere.empty or prices.empty:
        return math.nan
    tokens = elsewhere[["tokens_in_per_trial", "tokens_out_per_trial"]].mean().to_numpy(float)
    each = prices[["usd_per_million_tokens_in", "usd_per_million_tokens_out"]].mean().to_numpy(float)
    return float(np.dot(tokens, each)) / 1e6
