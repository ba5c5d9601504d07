"""Student's t where variances are unequal or a margin is tested: degrees of freedom, p values, bounds and TOST."""

import numpy as np
from scipy import special


def satterthwaite_df(variances, dfs):
    """Degrees of freedom of a sum of independent estimated variances.

    Parameters
    ----------
    variances, dfs : array_like, shape (k,)
        Of each estimate: its squared standard error, and the degrees of freedom that it is known with.

    Returns
    -------
    float

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2(6).
    """
    variances = np.asarray(variances, float)
    return float(variances.sum() ** 2 / (variances**2 / np.asarray(dfs)).sum())


def two_sided_p(statistic, df):
    """Two-sided p value of a t statistic."""
    return float(2 * special.stdtr(df, -abs(statistic)))


def t_bounds(estimate, error, df, confidence):
    """Return the bounds of the t interval of an estimate with this standard error."""
    half = float(special.stdtrit(df, (1 + confidence) / 2)) * error
    return estimate - half, estimate + half


def tost_p(difference, error, df, margin):
    """Return the larger p value of two one-sided t tests of a difference against `-margin` and `margin`.

    Parameters
    ----------
    difference, error, df, margin : float
        The error positive.

    Returns
    -------
    float
        Below alpha where the interval with confidence 1 - 2 alpha lies within the margin.

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15(6).
    """
    return float(
        max(special.stdtr(df, -(difference + margin) / error), special.stdtr(df, (difference - margin) / error))
    )
