"""The one rule by which an interval of gains becomes a decision."""

import numpy as np
from scipy import special

from analysis.methods.small_samples import CONFIDENCE, FEWEST_LLMS

ZERO = 1e-9


def decide(gain_low, gain_high, *, margin):
    """Say what bounds of a gain mean; the rule is in docs/methodology.md.

    Parameters
    ----------
    gain_low, gain_high : float
        NaN where there are none.
    margin : float
        The largest gain or loss that still counts as none.

    Returns
    -------
    {'use', 'avoid', 'equivalent', 'no_evidence'}
    """
    if -margin < gain_low and gain_high < margin:
        return "equivalent"
    if gain_low > ZERO:
        return "use"
    if gain_high < -ZERO:
        return "avoid"
    return "no_evidence"


def decide_from_gains(values, asked_bounds, *, level, margin):
    """Decide from the gains of LLMs: the one place where an interval becomes a decision.

    Parameters
    ----------
    values : numpy.ndarray, shape (n LLMs,)
        The gain of each LLM.
    asked_bounds : tuple of float
        Lower and upper bound of the mean gain of the LLMs that were asked, as of `Gains.asked_bounds`.
    level : float
        One-sided, as of `one_sided`.
    margin : float

    Returns
    -------
    columns : dict
        `gain` with its bounds, `decision` and `decision_asked`; without bounds where the LLMs do not vary.
    codes : list of str
        Why nothing is decided over LLMs: `one_llm` or `too_few_llms`, `zero_variance`; and `llms_differ` where some of
        those asked gain or lose more than the margin although their mean does not, or the other way than it does.
        `decision_asked` is `equivalent` only where all of them lie within the margin.
    """
    n_llms, gain = len(values), values.mean()
    enough = n_llms >= FEWEST_LLMS
    has_variance = n_llms > 1 and np.ptp(values) > ZERO * max(1.0, np.abs(values).max())
    columns = {
        "gain": gain,
        "gain_asked_low": asked_bounds[0],
        "gain_asked_high": asked_bounds[1],
        "decision": "no_evidence",
    }
    if has_variance:
        columns |= dict(zip(("gain_low", "gain_high"), t_bounds(values, level=level), strict=True))
        if enough:
            columns["decision"] = decide(columns["gain_low"], columns["gain_high"], margin=margin)
    few = [] if enough else ["one_llm" if n_llms == 1 else "too_few_llms"]
    codes = few + (["zero_variance"] if n_llms > 1 and not has_variance else [])
    word = decide(*asked_bounds, margin=margin)
    beyond = {"equivalent": np.abs(values), "use": -values, "avoid": values}.get(word, np.zeros(1)) > margin
    codes += ["llms_differ"] if beyond.any() else []
    columns["decision_asked"] = "no_evidence" if word == "equivalent" and beyond.any() else word
    return columns, codes


def t_bounds(values, *, level):
    """Return Student's t bounds of the mean gain of LLMs.

    Parameters
    ----------
    values : numpy.ndarray, shape (n LLMs,)
        At least two gains, in the unit of the goal.
    level : float
        One-sided, as of `one_sided`.

    Returns
    -------
    tuple of float
        Lower and upper bound, in the same unit.

    References
    ----------
    Student (1908), The probable error of a mean, Biometrika 6(1), 1-25.
    """
    half = -special.stdtrit(len(values) - 1, level) * values.std(ddof=1) / np.sqrt(len(values))
    return values.mean() - half, values.mean() + half


def one_sided(n_comparisons=1):
    """Return the one-sided level of the bounds of so many comparisons that share `CONFIDENCE`.

    Parameters
    ----------
    n_comparisons : int

    Returns
    -------
    float

    References
    ----------
    Dunn (1961), Multiple comparisons among means, JASA 56(293), 52-64 (Bonferroni's inequality).
    """
    return (1 - CONFIDENCE) / 2 / max(n_comparisons, 1)


def share_bound(k, n, *, confidence=CONFIDENCE):
    """Return the one-sided upper bound of a share.

    Parameters
    ----------
    k, n : int
        So many of so many were seen.
    confidence : float
        One-sided.

    Returns
    -------
    float
        1 where all were seen.

    References
    ----------
    Clopper & Pearson (1934), The use of confidence or fiducial limits, Biometrika 26(4), 404-413.
    """
    return float(special.betaincinv(k + 1, n - k, confidence)) if k < n else 1.0
