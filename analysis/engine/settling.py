"""`inference.power`, design `to_settle`: what it would take to decide what is open."""

import math

import numpy as np
from scipy import special

from analysis.engine.comparisons import compared
from analysis.engine.decisions import OVER_LLMS, mean_decision, pairs_of
from analysis.engine.rule import decide, one_sided
from analysis.small_samples import FEWEST_LLMS

MOST = 2**53  # more could not be counted exactly


def to_settle_rows(questions, ranked, controls, costs, prices):
    """Say of each open decision over LLMs how many of them, or how many trials, would settle it.

    Settled is a decision whose interval, as of `analysis.engine.rule`, excludes 0 or lies within the margin, were the
    mean gain and the variances what they are now. The variance of the mean of G LLMs is (between + within n0 / n) / G,
    with n trials in each cell (of the baseline too) where there are n0 now; `between` is the variance of the LLMs'
    gains less the mean of what their trials leave uncertain in them. What it leaves, no number of trials can remove.

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
        Rows of `analysis.power.COLUMNS`: two of each open decision against the control. `needed_llms` counts those that
        there are, with as many trials of each as now; `needed_trials` are of each LLM, vignette, technique and
        direction, with as many LLMs as now. `cost_usd` is of what is added to the technique and its control,
        baselines not included.
    """
    for question in questions:
        study, basis = question.keys["study"], question.basis
        gains, n_by_kind = compared(basis, pairs_of(question, ranked, controls))
        n_comparisons = n_by_kind["control"]
        keys = {"study": study, "domain": question.keys["domain"], "goal": question.keys["goal"]}
        keys |= {"alpha": 2 * one_sided(n_comparisons)}
        for pair, by_llm in gains.items():
            if pair.kind == "control" and by_llm.llms:
                per_trial = sum(_usd(costs, prices, study, name) for name in (pair.technique, pair.control))
                row, codes = mean_decision(pair, by_llm, basis, n_comparisons)
                if row["decision"] == "no_evidence":
                    settling = _settling(by_llm, codes, one_sided(n_comparisons), basis.margin, per_trial)
                    of_pair = keys | {"technique_a": pair.technique, "technique_b": pair.control}
                    yield from (of_pair | columns for columns in settling)


def settling_bound(gain, *, margin):
    """Return the half-width below which an interval around a gain excludes 0 or lies within the margin."""
    return max(abs(gain), margin - abs(gain))


def needed_llms(gain, deviation, *, level, margin):
    """Return the fewest LLMs that settle a mean gain, if their gains have this standard deviation.

    Parameters
    ----------
    gain, deviation : float
    level : float
        One-sided.
    margin : float

    Returns
    -------
    int or None
        At least `FEWEST_LLMS`; None where no number that can be counted does.
    """
    start = (special.ndtri(1 - level) * deviation / settling_bound(gain, margin=margin)) ** 2
    if not start < MOST:
        return None
    n = max(FEWEST_LLMS, math.floor(start))
    while settles(gain, deviation**2 / n, n, level=level, margin=margin) == "no_evidence":
        n += 1
    return n


def needed_trials(gain, between, within, n_llms, n_trials, *, level, margin):
    """Return the fewest trials of a cell that settle a mean gain of as many LLMs as now.

    Parameters
    ----------
    gain : float
    between, within : float
        Variance of the LLMs' true gains, and of what `n_trials` trials of a cell leave uncertain in one.
    n_llms : int
    n_trials : float
    level : float
        One-sided.
    margin : float

    Returns
    -------
    int or None
        At least 2; None where `between` alone is too large for so few LLMs, or there are fewer than `FEWEST_LLMS`.
    """
    if n_llms < FEWEST_LLMS:
        return None
    bound = settling_bound(gain, margin=margin) / special.stdtrit(n_llms - 1, 1 - level)
    left = n_llms * bound**2 - between
    if left <= 0 or not within * n_trials / left < MOST:
        return None
    n = max(2, math.floor(within * n_trials / left))
    while (
        settles(gain, (between + within * n_trials / n) / n_llms, n_llms, level=level, margin=margin) == "no_evidence"
    ):
        n += 1
    return n


def settles(gain, variance, n_llms, *, level, margin):
    """Return the decision of a mean gain of so many LLMs with this variance of the mean."""
    half = special.stdtrit(n_llms - 1, 1 - level) * math.sqrt(variance)
    return decide(gain - half, gain + half, margin=margin)


def _settling(gains, codes, level, margin, usd_per_trial):
    """Return the two rows of an open decision."""
    n_llms, gain = len(gains.llms), float(gains.values.mean())
    shared = {
        "design": "to_settle", "level": "llm", "row_set": "accepted", "baseline_scope": "pooled", "gain": gain,
        "n_llms": n_llms, "n_trials": gains.n_trials, "method": OVER_LLMS,
    }  # fmt: skip
    reason = next((code for code in codes if code in ("one_llm", "zero_variance")), None)
    if reason:
        for quantity in ("needed_llms", "needed_trials"):
            yield shared | {"quantity": quantity, "reason": reason}
        return
    variance = float(gains.values.var(ddof=1))
    within = min(float(gains.variances.mean()), variance)  # no more is to be won than there is
    between = variance - within
    n_cells = 4 * int(gains.used.sum())
    of_cell = gains.n_trials / n_cells
    shared |= {"between_variance": between, "within_variance": within, "n_trials_per_cell": of_cell}
    options = {"level": level, "margin": margin}

    n = needed_llms(gain, math.sqrt(variance), **options)
    row = {"quantity": "needed_llms", "reason": "effect_too_small"}
    if n is not None:
        row = {"quantity": "needed_llms", "needed_llms": n, **_reached(gain, variance / n, n, **options)}
        row |= _cost((n - n_llms) * gains.n_trials / n_llms / 2, usd_per_trial)
    yield shared | row

    n = needed_trials(gain, between, within, n_llms, of_cell, **options)
    row = {"quantity": "needed_trials", "reason": "not_reachable_with_trials"}
    if n is not None:
        reached = _reached(gain, (between + within * of_cell / n) / n_llms, n_llms, **options)
        row = {"quantity": "needed_trials", "needed_trials": n, **reached}
        row |= _cost((n - of_cell) * n_cells / 2, usd_per_trial)
    yield shared | row


def _reached(gain, variance, n_llms, *, level, margin):
    half = special.stdtrit(n_llms - 1, 1 - level) * math.sqrt(variance)
    return {"half_width": half, "settles": settles(gain, variance, n_llms, level=level, margin=margin)}


def _cost(trials_of_each, usd_of_one_each):
    if math.isnan(usd_of_one_each):
        return {"reason": "cost_unknown"}
    return {"cost_usd": trials_of_each * usd_of_one_each}


def _usd(costs, prices, study, technique):
    """Say what a trial costs: as it did in this study, else the tokens it took elsewhere at the prices of today."""
    of = costs[costs["technique"] == technique]
    here = of.loc[of["study"] == study, "cost_usd_per_trial"].dropna()
    if len(here):
        return float(here.mean())
    asked = of[~of["llm"].str.startswith("sim/")].dropna(subset=["tokens_in_per_trial", "tokens_out_per_trial"])
    if asked.empty or prices.empty:
        return math.nan
    tokens = asked[["tokens_in_per_trial", "tokens_out_per_trial"]].mean().to_numpy(float)
    each = prices[["usd_per_million_tokens_in", "usd_per_million_tokens_out"]].mean().to_numpy(float)
    return float(np.dot(tokens, each)) / 1e6
