"""`inference.llm_contrasts`: is one LLM more biased than another, and which places can it have among all."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.counts import CONTROL
from analysis.engine.guards import why_judged
from analysis.engine.losses import Loss
from analysis.methods.small_samples import CONFIDENCE, FEWEST_BASELINE
from analysis.methods.t_and_f_tests import holm as step_down
from analysis.tables import declared, first_reason, reasons

COLUMNS = declared("llm_contrasts")


@dataclass(frozen=True)
class Differences:
    """Differences of the criteria of G LLMs, each of shape (..., G, G): the LLM of the row less that of the column.

    `estimate` is NaN where the two have no vignette in common, and `mean_b` is the criterion of the column on those
    that both have. `low` and `high` are the bounds at `CONFIDENCE`, `p` the two-sided p value that goes with them; NaN
    where the trials do not tell the error.
    """

    estimate: np.ndarray
    mean_b: np.ndarray
    error: np.ndarray
    df: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray


def differences(loss, usable, baseline_variance, n_baseline):
    """Compare the criteria of every two LLMs on the vignettes that both have.

    The noise is that of the trials of both LLMs and of their baselines, which are independent; its t quantile has the
    fewest degrees of freedom of what enters.

    Parameters
    ----------
    loss : analysis.engine.losses.Loss
        Arrays of shape (..., G, V), of one technique and goal.
    usable : array_like of bool, shape (..., G, V)
        Where an LLM has a loss on a vignette.
    baseline_variance, n_baseline : array_like, shape (..., G, V)
        Of the logarithm of the mean baseline, and of how many answers it is.

    Returns
    -------
    Differences
    """
    usable = np.asarray(usable, bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        common = _in_common(usable)
        weights = common / common.sum(axis=-1, keepdims=True)
        variance = loss.variance + loss.slope**2 * baseline_variance
        fewest = np.where(usable, np.fmin(loss.df, n_baseline - 1), np.inf)  # no noise, no degrees of freedom

        def over_vignettes(values, combine, power=1):
            known = np.where(usable, values, 0.0)
            return np.sum(weights**power * combine(known[..., :, None, :], known[..., None, :, :]), axis=-1)

        estimate = over_vignettes(loss.criterion, np.subtract)
        mean_b = over_vignettes(loss.criterion, lambda a, b: b + np.zeros(a.shape))
        squared = over_vignettes(variance, np.add, power=2)
        of_both = np.minimum(fewest[..., :, None, :], fewest[..., None, :, :])
        df = np.where(common, of_both, np.inf).min(axis=-1, initial=np.inf)
        error = np.where(squared > 0, np.sqrt(squared), np.nan)
        half = special.stdtrit(df, (1 + CONFIDENCE) / 2) * error
        p = np.minimum(2 * special.stdtr(df, -np.abs(estimate) / error), 1)
    return Differences(estimate, mean_b, error, df, estimate - half, estimate + half, p)


def holm(p):
    """Adjust the p values of every two LLMs by Holm, for both directions of each pair.

    Each pair is two one-sided hypotheses, so that whoever says which of the two LLMs is the more anchored one is wrong
    anywhere in at most 5 % of data sets; Holm over two-sided hypotheses would not promise the direction.

    Parameters
    ----------
    p : array_like, shape (G, G)
        Symmetric; NaN where there is no test.

    Returns
    -------
    tuple of (numpy.ndarray, int)
        The adjusted values, and the number of pairs that were tested.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 65-70.
    """
    upper = np.triu_indices(len(p), 1)
    values = np.asarray(p, float)[upper]
    n_tested = np.count_nonzero(~np.isnan(values))
    adjusted = np.full(np.shape(p), np.nan)
    # of the two hypotheses of a pair the smaller p value is half of the two-sided one
    adjusted[upper] = adjusted.T[upper] = step_down(values / 2, 2 * n_tested)
    return adjusted, n_tested


def ranks(compared, p_holm):
    """Places of the LLMs, 1 the least biased, and the places that each can have.

    Parameters
    ----------
    compared : Differences
        Shape (G, G).
    p_holm : array_like, shape (G, G)

    Returns
    -------
    tuple of numpy.ndarray, shape (G,)
        Place by the estimates; best and worst place. The sets of all LLMs hold their true places at once with at
        least the confidence: an LLM is behind all that are significantly less biased, before all that are more.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Inference for ranks with applications to mobility across neighbourhoods
    and academic achievement across countries, Review of Economic Studies 91(1), 476-518.
    """
    significant = p_holm <= 1 - CONFIDENCE
    worse, better = compared.estimate > 1e-9, compared.estimate < -1e-9
    first = 1 + (significant & worse).sum(axis=1)
    n_ranked = np.count_nonzero(~np.isnan(np.diagonal(compared.estimate)))
    last = n_ranked - (significant & better).sum(axis=1)
    return 1 + worse.sum(axis=1), first, last


def llm_contrasts(questions, ranked):
    """Compare every two LLMs by the loss of each question, under no technique and under each ranked one.

    Parameters
    ----------
    questions : iterable of Question
    ranked : collection of str
        Techniques that are ranked.

    Yields
    ------
    dict
        Rows of `COLUMNS`, one per technique and ordered pair of LLMs: what holds of an LLM is found as `llm_a`.
    """
    for question in questions:
        for technique in question.basis.losses.techniques:
            if technique == CONTROL or technique in ranked:
                keys = question.keys | {"technique": technique}
                yield from (keys | row for row in _by_pair(question.basis, technique))


def _by_pair(basis, technique):
    losses, limits = basis.losses, why_judged(basis)
    place = losses.techniques.index(technique)
    n_trials = losses.moments.n[..., place, :].sum(axis=-1)
    put = np.flatnonzero(n_trials.sum(axis=1))
    n_trials, n_baseline = n_trials[put], losses.n_baseline[put]
    in_unit = losses.criterion_by_llm(basis.goal, technique).in_unit
    loss = Loss(*(values[put][..., place] for values in vars(losses.by_goal(basis.goal)).values()))
    has_loss = ~np.isnan(loss.loss)
    usable = has_loss & (n_baseline >= FEWEST_BASELINE)
    compared = differences(loss, usable, losses.moments.baseline_variance[put][..., place], n_baseline)
    p_holm, n_comparisons = holm(compared.p)
    rank, first, last = ranks(compared, p_holm)
    common = _in_common(usable)
    for a, llm_a in enumerate(put):
        for b, llm_b in enumerate(put):
            if a == b:
                continue
            both = common[a, b]
            reason = first_reason(
                baseline_below_10=not both.any() and (has_loss[a] & has_loss[b]).any(),
                no_common_vignette=not both.any(),
                zero_variance=np.isnan(compared.error[a, b]) and not np.isnan(loss.variance[[a, b]][:, both]).any(),
                one_trial=np.isnan(compared.error[a, b]),
            )
            row = {"llm_a": losses.llms[llm_a], "llm_b": losses.llms[llm_b], "n_llms": 2, "confidence": CONFIDENCE}
            row |= {"method": "t_of_squares", "n_comparisons": n_comparisons}
            row["reason"] = reasons(reason, *limits)
            row["n_trials"] = int(n_trials[[a, b]][:, both].sum())
            if both.any():
                ends = compared.mean_b[b, a], compared.mean_b[a, b]
                row |= dict(zip(("loss_a", "loss_b"), map(in_unit, ends), strict=True))
                row["difference"] = row["loss_a"] - row["loss_b"]
            if reason is None:
                size = row["loss_a"] + row["loss_b"] if losses.power(basis.goal) == 2 else None
                low, high = (_in_points(end, size) for end in (compared.low[a, b], compared.high[a, b]))
                row |= {"low": low, "high": high, "df": compared.df[a, b]}
                row |= {"p_value": compared.p[a, b], "p_holm": p_holm[a, b]}
            if usable[a].any():
                row |= {"rank_a": rank[a], "rank_a_low": first[a], "rank_a_high": last[a]}
            yield row


def _in_common(usable):
    return usable[..., :, None, :] & usable[..., None, :, :]


def _in_points(difference, size):
    """A difference of squares in the unit of the loss, whose roots add up to `size`; None where it is of no squares."""
    if size is None or difference == 0:
        return difference
    return difference / max(size, np.sqrt(np.abs(difference)))
