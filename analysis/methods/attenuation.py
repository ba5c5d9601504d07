"""The correlation of two quantities that are each measured with noise of a known variance, over clusters."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.methods.small_samples import CONFIDENCE


@dataclass(frozen=True)
class Moments:
    """What varies within clusters beyond noise, each of shape (..., n clusters): of both quantities and in common."""

    first: np.ndarray
    second: np.ndarray
    common: np.ndarray

    def by(self, mean):
        """Return those of larger clusters, where `mean` averages clusters of the last axis."""
        return Moments(*(mean(values) for values in vars(self).values()))


def moments_within(values, noise):
    """Take what two quantities vary by within each cluster about its own means, less what noise adds to that.

    What all measurements of a quantity in a cluster share, such as the error of a common control, is in its mean and
    falls out; what only some share is in the covariances of the noise.

    Parameters
    ----------
    values : numpy.ndarray, shape (..., n clusters, n members, 2)
    noise : numpy.ndarray, shape (..., n clusters, n members, n members, 2)
        Covariances of the errors of each quantity; those of the two are independent.

    Returns
    -------
    Moments
        Unbiased: that of a quantity may come out below 0.

    References
    ----------
    Fuller (1987), Measurement Error Models, section 1.2, for variances less those of known errors; Seber & Lee (2003),
    Linear Regression Analysis, theorem 1.5, for what errors with covariances add to a centred sum of squares.
    """
    n = values.shape[-2]
    apart = values - values.mean(axis=-2, keepdims=True)
    added = np.einsum("...kkq->...q", noise) - noise.sum(axis=(-3, -2)) / n
    own = ((apart**2).sum(axis=-2) - added) / (n - 1)
    return Moments(own[..., 0], own[..., 1], apart.prod(axis=-1).sum(axis=-1) / (n - 1))


def disattenuated_correlation(moments, *, confidence=CONFIDENCE):
    """Correlate two quantities within clusters, without noise; clusters are drawn independently.

    The mean covariance of clusters over the root of the product of their mean variances. With the two quantities in
    units in which these variances are equal, z = common - r (first + second) / 2 has the mean 0 in clusters at the true
    r, and is symmetric there if all is normal and noise is small: the interval holds each r at which Student's t of
    z does not reject 0, as Fieller's does. The geometric mean of two estimates is too small, to second order by an
    eighth of the variance of the logarithm of their ratio, which is made up for.

    Parameters
    ----------
    moments : Moments
        Of shape (..., n clusters), at least two.
    confidence : float in (0, 1)

    Returns
    -------
    tuple of numpy.ndarray, shape (...)
        Correlation and bounds, which may lie beyond 1. NaN where a variance is not above 0; bounds are NaN as well
        where their mean is not told from 0, since any correlation may then be compatible with the data.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things, American Journal of Psychology 15(1),
    72-101; Fieller (1954), Some problems in interval estimation, JRSS B 16(2), 175-185; van Houwelingen, Arends &
    Stijnen (2002), Advanced methods in meta-analysis: multivariate approach and meta-regression, Statistics in Medicine
    21(4), 589-624, for the correlation of true effects beside known sampling errors.
    """
    n = moments.common.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (
            values / np.where(mean > 0, mean, np.nan)
            for values in (moments.first, moments.second)
            for mean in [values.mean(axis=-1, keepdims=True)]
        )
        scale = np.sqrt(moments.first.mean(axis=-1) * moments.second.mean(axis=-1))[..., None]
        common = moments.common / scale
        both = (first + second) / 2 * (1 + (first - second).var(axis=-1, ddof=1) / n / 8)[..., None]
        quantile = special.stdtrit(n - 1, (1 + confidence) / 2) ** 2 / (n * (n - 1))
        x, y = (values - values.mean(axis=-1, keepdims=True) for values in (common, both))
        squares = [quantile * (one * other).sum(axis=-1) for one, other in ((x, x), (x, y), (y, y))]
        mean_x, mean_y = common.mean(axis=-1), both.mean(axis=-1)
        a, b, c = mean_y**2 - squares[2], mean_x * mean_y - squares[1], mean_x**2 - squares[0]
        a = np.where(a > 0, a, np.nan)
        half = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    return mean_x / mean_y, (b - half) / a, (b + half) / a
