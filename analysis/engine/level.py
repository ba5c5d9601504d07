"""Whether a gap is smaller only because all answers are: halving every answer halves a gap."""

import numpy as np

from analysis.engine.losses import SAME
from analysis.engine.rule import one_sided, t_bounds

CODE = "gap_shrinks_with_level"


def gap_shrinks_with_level(log_ratio_gains, log_levels, *, level=None):
    """Say whether a gain by gap is one that the level of the answers alone may carry.

    Parameters
    ----------
    log_ratio_gains : array_like, shape (n units,)
        Of each LLM or vendor, the size of `log_ratio` (the logarithm of the high over the low mean) of the control,
        less that of the technique: above 0 where high and low come nearer to each other by a factor. NaN where a mean
        is not above 0.
    log_levels : array_like, shape (n units,)
        Of each, the logarithm of the level with the technique over that of the control; the level is the mean of the
        two arms, 100 and the `signed_shift`.
    level : float, optional
        One-sided, of both intervals: by default that of a single comparison.

    Returns
    -------
    bool
        True where the t interval of the mean log level lies below 0 and that of the mean gain in log ratio does not
        lie above 0. Of fewer than two units, or of units that do not vary, nothing is sure.
    """
    level = one_sided() if level is None else level
    (_, fell), (gained, _) = (_surely(values, level) for values in (log_levels, log_ratio_gains))
    return bool(fell < 0 and not gained > 0)


def _surely(values, level):
    """Return the bounds of a mean, infinite where nothing is sure."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    if len(values) < 2 or np.ptp(values) <= SAME * np.abs(values).max():
        return -np.inf, np.inf
    return t_bounds(values, level=level)
