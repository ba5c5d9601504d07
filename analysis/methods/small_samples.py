"""Intervals over few LLMs, where the normal quantile and the percentile bootstrap promise too much."""

from dataclasses import dataclass

import numpy as np
from scipy import special

CONFIDENCE = 0.95  # of every interval that does not say otherwise
ALPHA = 0.05  # of every test
FEWEST_LLMS = 5
FEWEST_VENDORS = 5
# answers that a baseline rests on: a mean of ratios over fewer is biased, and refused; up to the other it is flagged
FEWEST_BASELINE = 10
FEW_BASELINE = 30


@dataclass(frozen=True)
class Interval:
    """An estimate with its bounds, which are None where `reason` says why."""

    estimate: float | None
    low: float | None
    high: float | None
    df: float | None = None
    reason: str | None = None


def wilson_interval(k, n, *, confidence=CONFIDENCE):
    """Interval of a share of which k in n were seen, by the score test; close to its level also where n is small.

    Parameters
    ----------
    k, n : int or array_like of int
        0 <= k <= n and n > 0.
    confidence : float in (0, 1)

    Returns
    -------
    tuple of numpy.ndarray
        Lower and upper bound, between 0 and 1.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22(158), 209-212.
    """
    k, n, z = np.asarray(k, float), np.asarray(n, float), special.ndtri((1 + confidence) / 2)
    centre, half = k + z**2 / 2, z * np.sqrt(k * (n - k) / n + z**2 / 4)
    return np.maximum((centre - half) / (n + z**2), 0.0), np.minimum((centre + half) / (n + z**2), 1.0)


def share_interval(k, n, *, confidence=CONFIDENCE):
    """Exact interval of a share of which k in n were seen.

    Parameters
    ----------
    k, n : int or array_like of int
        0 <= k <= n and n > 0.
    confidence : float in (0, 1)
        Each side leaves out half of the rest.

    Returns
    -------
    tuple of numpy.ndarray
        Lower and upper bound, between 0 and 1.

    References
    ----------
    Clopper & Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial,
    Biometrika 26(4), 404-413.
    """
    k, n = np.asarray(k, float), np.asarray(n, float)
    outside = (1 - confidence) / 2
    low = special.betaincinv(np.maximum(k, 1), n - k + 1, outside)
    high = special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - outside)
    return np.where(k > 0, low, 0.0), np.where(k < n, high, 1.0)


def cr2_interval(values, weights=None, *, confidence=CONFIDENCE):
    """Interval for a weighted mean over clusters, with the bias-reduced variance CR2 and Satterthwaite's df.

    With equal weights it is Student's t interval of the cluster means.

    Parameters
    ----------
    values : array_like, shape (G,)
        One number per cluster (LLM), in any unit.
    weights : array_like, shape (G,), optional
        How much each counts; 0 leaves it out. Equal by default.
    confidence : float in (0, 1)

    Returns
    -------
    Interval
        Without bounds below `FEWEST_LLMS` clusters (`too_few_llms`) or where all are equal (`zero_variance`).

    References
    ----------
    Bell & McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples;
    Pustejovsky & Tipton (2018), Small-sample methods for cluster-robust variance estimation, equations 6 and 11, here
    for an intercept alone with independent, equally varying clusters as the working model.
    """
    y = np.asarray(values, float)
    h = np.full(len(y), 1.0) if weights is None else np.asarray(weights, float)
    y, h = y[h > 0], h[h > 0]
    if not len(y):
        return Interval(None, None, None, reason="no_llms")
    h = h / h.sum()
    estimate = float(h @ y)
    if len(y) < FEWEST_LLMS:
        return Interval(estimate, None, None, reason="too_few_llms")
    if np.ptp(y) <= 1e-12 * max(1.0, np.abs(y).max()):
        return Interval(estimate, None, None, reason="zero_variance")
    leverage = 1 - 2 * h + h @ h
    if (leverage <= 1e-12).any():
        return Interval(estimate, None, None, reason="one_llm_dominates")
    residual_maker = np.eye(len(y)) - h
    scale = h**2 / leverage
    variance = scale @ (y - estimate) ** 2
    quadratic = residual_maker.T @ (scale[:, None] * residual_maker)
    df = float(np.trace(quadratic) ** 2 / np.sum(quadratic**2))
    half = -special.stdtrit(df, (1 - confidence) / 2) * np.sqrt(variance)
    return Interval(estimate, float(estimate - half), float(estimate + half), df)


def fieller_interval(numerators, denominators, *, confidence=CONFIDENCE):
    """Interval for a ratio of two means over the same clusters.

    Parameters
    ----------
    numerators, denominators : array_like, shape (G,)
        Both of each cluster (LLM), in the same unit.
    confidence : float in (0, 1)

    Returns
    -------
    Interval
        Of mean numerator / mean denominator. Without bounds where the denominator is not told from 0 at this
        confidence (`reference_not_established`), since any ratio is then compatible with the data.

    References
    ----------
    Fieller (1954), Some problems in interval estimation, Journal of the Royal Statistical Society B 16, 175-185.
    """
    a, b = np.asarray(numerators, float), np.asarray(denominators, float)
    n = len(a)
    if not n or b.mean() == 0:
        return Interval(None, None, None, reason="no_llms" if not n else "no_spread_to_change")
    estimate = float(a.mean() / b.mean())
    if n < FEWEST_LLMS:
        return Interval(estimate, None, None, reason="too_few_llms")
    (v_a, c_ab), (_, v_b) = np.cov(a, b) / n
    quantile = special.stdtrit(n - 1, (1 - confidence) / 2) ** 2
    g = quantile * v_b / b.mean() ** 2
    if g >= 1:
        return Interval(estimate, None, None, n - 1, "reference_not_established")
    centre = estimate - g * c_ab / v_b if v_b > 0 else estimate
    inner = v_a - 2 * estimate * c_ab + estimate**2 * v_b - (g * (v_a - c_ab**2 / v_b) if v_b > 0 else 0.0)
    if inner <= 1e-12 * (v_a + estimate**2 * v_b) + 1e-24 * a.mean() ** 2:
        return Interval(estimate, None, None, n - 1, "zero_variance")
    half = np.sqrt(quantile * inner) / abs(b.mean())
    return Interval(estimate, float((centre - half) / (1 - g)), float((centre + half) / (1 - g)), n - 1)


def expanded_level(alpha, n):
    """Level at which percentile bounds of n clusters are as wide as those of Student's t.

    The bootstrap of n values is too narrow twice over: by the factor sqrt((n - 1) / n) of its standard deviation, and
    by a normal quantile where n - 1 degrees of freedom ask for one of t.

    Parameters
    ----------
    alpha : float in (0, 1)
        One-sided level that is wanted, e.g. 0.025.
    n : int
        How many clusters (LLMs) are resampled, at least 2.

    Returns
    -------
    float
        The one-sided level to read the percentiles at, smaller than `alpha`.

    References
    ----------
    Hesterberg (2015), What teachers should know about the bootstrap, section 5.3 (the expanded percentile interval),
    The American Statistician 69(4), 371-386.
    """
    return float(special.ndtr(np.sqrt(n / (n - 1)) * special.stdtrit(n - 1, alpha)))
