"""Effect sizes of a difference of means: Cohen's d, Hedges' g by two corrections, and their intervals."""

import numpy as np
from scipy import optimize, special

from analysis.methods.small_samples import CONFIDENCE


def hedges_factor(df):
    """Return what takes the bias off Cohen's d: gamma(m / 2) / (sqrt(m / 2) gamma((m - 1) / 2)) with m = `df`.

    References
    ----------
    Hedges (1981), Journal of Educational Statistics 6(2).
    """
    return float(special.poch((df - 1) / 2, 0.5) / np.sqrt(df / 2)) if df > 1 else float("nan")


def approximate_hedges_factor(df):
    """Return Hedges' approximation of `hedges_factor`, 1 - 3 / (4m - 1) with m = `df`, which is the one in common use.

    Story 001 prints its effect sizes with this one.

    References
    ----------
    Hedges (1981), Journal of Educational Statistics 6(2).
    """
    return 1 - 3 / (4 * df - 1)


def noncentral_t_bounds(statistic, df, confidence=CONFIDENCE):
    """Return the noncentralities of which a t statistic is the upper and the lower tail.

    Parameters
    ----------
    statistic, df, confidence : float

    Returns
    -------
    tuple of float
        NaN if the distribution cannot be inverted there, and beyond a statistic of 1,000, where that takes seconds.

    References
    ----------
    Steiger & Fouladi (1997), in: What if there were no significance tests?, chapter 9.
    """
    if abs(statistic) > 1000:
        return float("nan"), float("nan")
    bounds = []
    for tail in ((1 + confidence) / 2, (1 - confidence) / 2):
        # good to three digits, which brackets the root
        start = special.nctdtrinc(df, tail, statistic)
        width = 0.05 * (1 + abs(start))
        try:
            bound = optimize.brentq(_noncentral_t_excess, start - width, start + width, (df, statistic, tail))
        except ValueError:
            bound = float("nan")
        bounds.append(bound)
    return tuple(bounds)


def standardised(comparison, confidence=CONFIDENCE):
    """Cohen's d and Hedges' g of a comparison, with intervals.

    Over trials, d divides the difference by the standard deviation pooled over the groups, and the interval is the
    large-sample one, with variance sum(1 / n) + d^2 / (2 N). Over LLMs, d is the mean paired difference over its
    standard deviation (d_z), and the interval inverts the noncentral t distribution. g is d times the exact
    correction; so are the bounds over LLMs, while those over trials take the variance of g itself.

    Parameters
    ----------
    comparison : Comparison
    confidence : float

    Returns
    -------
    tuple of (dict, str or None)
        `cohens_d`, `hedges_g` and each with `_low` and `_high`; and why bounds are missing.

    References
    ----------
    Hedges & Olkin (1985), Statistical Methods for Meta-Analysis, chapter 5, equations 8, 10 and 15.
    """
    if comparison.reason:
        return {}, comparison.reason
    if comparison.summaries:
        n = np.array([summary.n_trials for summary in comparison.summaries], float)
        df = n.sum() - len(n)
        variances = np.array([summary.variance for summary in comparison.summaries])
        d = comparison.difference / np.sqrt(np.dot(n - 1, variances) / df)
        z = special.ndtri((1 + confidence) / 2)
        values = {}
        for name, effect in (("cohens_d", d), ("hedges_g", d * hedges_factor(df))):
            half = z * np.sqrt((1 / n).sum() + effect**2 / (2 * n.sum()))
            values |= {name: effect, f"{name}_low": effect - half, f"{name}_high": effect + half}
        return values, None
    root, factor = np.sqrt(comparison.n_llms), hedges_factor(comparison.df)
    shifts = comparison.statistic, *noncentral_t_bounds(comparison.statistic, comparison.df, confidence)
    values = {}
    for suffix, shift in zip(("", "_low", "_high"), shifts, strict=True):
        values |= {f"cohens_d{suffix}": shift / root, f"hedges_g{suffix}": factor * shift / root}
    return values, None if np.isfinite(shifts).all() else "noncentral_t_not_invertible"


def _noncentral_t_excess(shift, df, statistic, tail):
    return special.nctdtr(df, shift, statistic) - tail
