"""`inference.power`, design `to_settle`: what it would take to decide what is open."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from analysis.engine.comparisons import compared
from analysis.engine.decisions import OVER_LLMS, mean_decision, pairs_of
from analysis.engine.guards import WITHHELD, stood
from analysis.engine.rule import decide, one_sided
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
        Where items are a sample too, how many there are; then the variance of the mean over LLMs and items is the sum
        of three parts: `of_llms` falls with more LLMs, `of_items` with more items, `rest` with either.
    of_llms, of_items, rest : float
    """

    n_llms: int
    between: float
    within: float
    n_items: int | None = None
    of_llms: float = 0.0
    of_items: float = 0.0
    rest: float = 0.0

    def with_llms(self, n_llms):
        """Return the same of another number of LLMs."""
        share = self.n_llms / n_llms
        return replace(self, n_llms=n_llms, of_llms=share * self.of_llms, rest=share * self.rest)

    def with_more(self, times):
        """Return the same with so many times the items, or trials in each cell where items are no sample."""
        n_items = None if self.n_items is None else max(2, math.floor(times * self.n_items + 1e-9))
        parts = {name: getattr(self, name) / times for name in ("within", "of_items", "rest")}
        return replace(self, n_items=n_items, **parts)

    def half_width(self, level):
        """Return that of the interval of the mean gain at a one-sided level, as `analysis.engine.guards` has it."""
        variance = (self.between + self.within) / self.n_llms
        half = special.stdtrit(self.n_llms - 1, 1 - level) * math.sqrt(variance)
        if self.n_items is None:
            return float(half)
        df = min(self.n_llms, self.n_items) - 1
        both = special.stdtrit(df, 1 - level) * math.sqrt(self.of_llms + self.of_items + self.rest)
        return float(max(half, both))


def to_settle_rows(questions, ranked, controls, costs, prices):
    """Say of each open decision over LLMs how many of them, and how many items or trials, would settle it.

    Settled is a decision whose interval, as of `analysis.engine.rule`, excludes 0 or lies within the margin, were the
    mean gain and the variances what they are now. The variance of the mean of G LLMs is (between + within n0 / n) / G,
    with n trials in each cell (of the baseline too) or n items where there are n0 now; `between` is the variance of the
    LLMs' gains less the mean of what their trials leave uncertain in them. What it leaves, no number of trials can
    remove. Where items are a sample too the interval is not narrower than that over LLMs and items, whose variance has
    a part that no number of LLMs removes.

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
    for question in questions:
        study, basis = question.keys["study"], question.basis
        gains, n_by_kind = compared(basis, pairs_of(question, ranked, controls))
        n_comparisons = n_by_kind["control"]
        for pair, by_llm in gains.items():
            if pair.kind != "control" or not by_llm.llms:
                continue
            row, codes = mean_decision(pair, by_llm, basis, n_comparisons)
            row, limits = stood(row, by_llm, basis)
            if row["decision"] != "no_evidence":
                continue
            level = one_sided(n_comparisons)
            per_trial = sum(_usd(costs, prices, study, name) for name in (pair.technique, pair.control))
            keys = question.keys | {"technique_a": pair.technique, "technique_b": pair.control, "alpha": 2 * level}
            reason = next((code for code in codes if code in ("one_llm", "zero_variance")), None)
            reason = reason or (limits[0] if row.get("certainty") == WITHHELD else None)
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


def needed_llms(gain, uncertainty, *, level, margin):
    """Return the fewest LLMs that settle a mean gain, at least `FEWEST_LLMS`, or None where no number does.

    Parameters
    ----------
    gain : float
    uncertainty : Uncertainty
        As it is now.
    level : float
        One-sided.
    margin : float

    Returns
    -------
    int or None
    """
    return fewest(lambda n: settles(gain, uncertainty.with_llms(n), level=level, margin=margin), FEWEST_LLMS)


def needed_more(gain, uncertainty, n_now, *, level, margin):
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

    Returns
    -------
    int or None
        At least 2; None where what LLMs differ by is too much for so few, or there are fewer than `FEWEST_LLMS`.
    """
    if uncertainty.n_llms < FEWEST_LLMS:
        return None
    return fewest(lambda n: settles(gain, uncertainty.with_more(n / n_now), level=level, margin=margin), 2)


def settles(gain, uncertainty, *, level, margin):
    """Return what is decided of a mean gain that is so uncertain, or None where it is open."""
    half = uncertainty.half_width(level)
    decision = decide(gain - half, gain + half, margin=margin)
    return None if decision == "no_evidence" else decision


def _settling(row, gains, basis, level, usd_per_trial, reason):
    """Return the two rows of an open decision."""
    n_llms, gain = len(gains.llms), float(row["gain"])
    shared = {
        "design": "to_settle", "level": "llm", "row_set": "accepted", "baseline_scope": "pooled", "gain": gain,
        "n_llms": n_llms, "n_trials": gains.n_trials, "method": OVER_LLMS,
    }  # fmt: skip
    of_items = basis.items is not None and basis.items.n_items > gains.used.shape[1]
    quantity = "needed_items" if of_items else "needed_trials"
    if reason:
        yield from (shared | {"quantity": name, "reason": reason} for name in ("needed_llms", quantity))
        return
    now = _uncertainty(row, gains, basis)
    shared |= {"between_variance": now.between, "within_variance": now.within}
    n_now = basis.items.n_items if of_items else gains.n_trials / (2 * basis.n_arms * int(gains.used.sum()))
    shared |= {"n_items": n_now} if of_items else {"n_trials_per_cell": n_now}
    options = {"level": level, "margin": basis.margin}
    n = needed_llms(gain, now, **options)
    more = needed_more(gain, now, n_now, **options)
    for name, needed, wanted, times in (
        ("needed_llms", n, n and now.with_llms(n), n and n / n_llms),
        (quantity, more, more and now.with_more(more / n_now), more and more / n_now),
    ):
        if needed is None:
            # without a gain and without a margin no number is enough
            hopeless = name == "needed_llms" and now.n_items is None
            yield shared | {"quantity": name, "reason": "effect_too_small" if hopeless else UNREACHABLE[name]}
            continue
        reached = {"half_width": wanted.half_width(level), "settles": settles(gain, wanted, **options)}
        yield shared | {"quantity": name, name: needed, **reached, **_cost(times, gains.n_trials, usd_per_trial)}


def _uncertainty(row, gains, basis):
    """Return what makes the mean gain of a row uncertain."""
    variance = float(gains.values.var(ddof=1))
    within = min(float(gains.variances.mean()), variance)  # no more is to be won than there is
    now = Uncertainty(len(gains.llms), variance - within, within)
    mean = basis.items and basis.items.over_both(basis.items.gain(row["technique"], row["control"]))
    if mean is None:
        return now
    llms, items, both = ((level.standard_error or 0.0) ** 2 for level in (mean.over_llms, mean.over_items, mean.both))
    of_llms, of_items = max(both - items, 0.0), max(both - llms, 0.0)
    rest = max(both - of_llms - of_items, 0.0)
    return replace(now, n_items=mean.n_items, of_llms=of_llms, of_items=of_items, rest=rest)


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
