"""Tests of means: Student's t, its degrees of freedom and bounds, two one-sided tests, Hotelling's T², F, and Holm."""

import numpy as np
from scipy import special


def satterthwaite_df(variances, dfs):
    """Degrees of freedom of a sum of independent estimated variances.

    Parameters
    ----------
    variances, dfs : array_like, shape (k, ...)
        Of each estimate: its squared standard error, and the degrees of freedom that it is known with.

    Returns
    -------
    numpy.ndarray, shape (...)

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2(6).
    """
    variances = np.asarray(variances, float)
    return variances.sum(axis=0) ** 2 / (variances**2 / np.asarray(dfs)).sum(axis=0)


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


def holm(p_values, n_hypotheses=None):
    """Adjust p values by Holm's step-down procedure.

    Parameters
    ----------
    p_values : array_like, shape (k,)
        NaN where there is no test, which does not count as one.
    n_hypotheses : int, optional
        How many hypotheses these are the smallest p values of; as many as there are by default.

    Returns
    -------
    numpy.ndarray, shape (k,)
        At most 1, in the order given.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 65-70.
    """
    # statsmodels' multipletests collects garbage in every call, which takes longer than all else here
    adjusted = np.array(p_values, float)
    tested = np.flatnonzero(~np.isnan(adjusted))
    order = tested[np.argsort(adjusted[tested], kind="stable")]
    left = (len(tested) if n_hypotheses is None else n_hypotheses) - np.arange(len(tested))
    adjusted[order] = np.minimum(np.maximum.accumulate(left * adjusted[order]), 1)
    return adjusted


def hotelling(values):
    """Hotelling's one-sample test that all means are zero.

    Parameters
    ----------
    values : ndarray, shape (G, d)
        One row per independent unit.

    Returns
    -------
    dict
        `statistic` (F), `df1`, `df2`, `p_value`, `partial_eta_squared`; or `reason`, if the covariance is singular.

    References
    ----------
    Hotelling (1931), Annals of Mathematical Statistics 2, 360-378.
    """
    n, d = values.shape
    covariance = np.atleast_2d(np.cov(values, rowvar=False))
    if not np.trace(covariance) > 0 or np.linalg.cond(covariance) > 1e12:
        return {"reason": "zero_variance"}
    mean = values.mean(axis=0)
    return f_test(float(n * mean @ np.linalg.solve(covariance, mean)), d, n - 1, n - d)


def f_test(effect, df1, error, df2):
    """F test of what an effect explains against what is left.

    Parameters
    ----------
    effect, error : float
        Sums of squares, in any common unit.
    df1, df2 : int
        Of the test, so that F is (effect / df1) / (error / df2).

    Returns
    -------
    dict
        `statistic` (F), `df1`, `df2`, `p_value`, `partial_eta_squared`.
    """
    statistic = (effect / df1) / (error / df2)
    return {
        "statistic": statistic,
        "df1": df1,
        "df2": df2,
        "p_value": float(special.fdtrc(df1, df2, statistic)),
        "partial_eta_squared": effect / (effect + error),
    }
