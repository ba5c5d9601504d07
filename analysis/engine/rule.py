"""The one rule by which an interval of gains becomes a decision."""

import numpy as np
from scipy import special

from analysis.methods.small_samples import CONFIDENCE, FEWEST_LLMS, FEWEST_VENDORS

ZERO = 1e-9


def decide(gain_low, gain_high, *, margin, root=None):
    """Say what bounds of a gain mean; the rule is in docs/methodology.md.

    Parameters
    ----------
    gain_low, gain_high : float
        Of the criterion, NaN where there are none.
    margin : float
        The largest gain or loss that still counts as none, in the unit of the loss.
    root : float, optional
        The root of the control's mean square, where the criterion is squared.

    Returns
    -------
    {'use', 'avoid', 'equivalent', 'no_evidence'}
    """
    if _is_equivalent(gain_low, gain_high, margin, root):
        return "equivalent"
    if gain_low > ZERO:
        return "use"
    if gain_high < -ZERO:
        return "avoid"
    return "no_evidence"


def _is_equivalent(gain_low, gain_high, margin, root):
    low, high = no_difference(margin, root)
    return low < gain_low and gain_high < high


def no_difference(margin, root=None):
    """Return between which gains of the criterion there is no difference, as `decide` has it.

    Parameters
    ----------
    margin : float
        In the unit of the loss.
    root : float, optional
        As of `decide`: near the fold the margin holds of squares too, since there the control's root is mostly noise.

    Returns
    -------
    tuple of float
        By `in_points` they are the margin.
    """
    if root is None:
        return -margin, margin
    return -margin * (2 * root + margin), margin * (2 * root - margin) if root >= 2 * margin else margin**2


def in_points(gain, root):
    """Return a gain of the criterion in the unit of the loss, as a reader is shown it.

    Parameters
    ----------
    gain : float or numpy.ndarray
        What the control's mean square is larger by.
    root : float or numpy.ndarray or None
        The root of the control's mean square; None where the criterion is the loss itself.

    Returns
    -------
    float or numpy.ndarray
        By how much the root falls where the mean square falls by the gain: never the root of a gain.
    """
    return gain if root is None else root - np.sqrt(np.maximum(root**2 - gain, 0.0))


def decide_over_vendors(gains, *, level, margin):
    """Decide from the gains of LLMs, over their vendors: the one place where an interval becomes a decision.

    LLMs of one vendor may resemble one another, so that the vendor is the unit: the decision is read off Student's t
    interval of the unweighted means of vendors.

    Parameters
    ----------
    gains : Gains
        Of one LLM or more.
    level : float
        One-sided, as of `one_sided`.
    margin : float

    Returns
    -------
    columns : dict
        `gain, gain_low, gain_high` in the unit of the loss and as `gain_squared…` as the criterion has them, with
        `loss, loss_control, n_vendors, decision`; beside it over LLMs `gain_llms_low, gain_llms_high, decision_llms`.
        Without bounds where the units do not vary.
    codes : list of str
        Why nothing is decided over vendors: `too_few_vendors`, `zero_variance`.

    References
    ----------
    Ibragimov & Müller (2010), t-statistic based correlation and heterogeneity robust inference, Journal of Business &
    Economic Statistics 28(4), 453-468.
    """
    by_vendor, control = gains.by_vendor(gains.values), gains.by_vendor(gains.control)
    gain, root = by_vendor.mean(), gains.root(control.mean())
    enough = len(by_vendor) >= FEWEST_VENDORS
    columns = {
        "gain": in_points(gain, root),
        "loss_control": gains.root_of(control.mean()),
        "loss": gains.root_of(control.mean() - gain),
        "gain_squared": gain if root is not None else None,
        "n_vendors": len(by_vendor),
        "decision": "no_evidence",
        "decision_llms": "no_evidence",
    }
    has_variance = varies(by_vendor)
    if has_variance:
        columns |= with_bounds(t_bounds(by_vendor, level=level), root)
        if enough:
            columns["decision"] = decide(*t_bounds(by_vendor, level=level), margin=margin, root=root)
    if varies(gains.values):
        low, high = t_bounds(gains.values, level=level)
        over_llms = gains.root(gains.control.mean())
        columns |= {"gain_llms_low": in_points(low, over_llms), "gain_llms_high": in_points(high, over_llms)}
        if len(gains.llms) >= FEWEST_LLMS:
            columns["decision_llms"] = decide(low, high, margin=margin, root=over_llms)
    codes = [] if enough else ["too_few_vendors"]
    return columns, codes + (["zero_variance"] if len(by_vendor) > 1 and not has_variance else [])


def with_bounds(bounds, root):
    """Return bounds of a criterion as columns, in the unit of the loss and, where it is squared, as they are.

    Parameters
    ----------
    bounds : tuple of float
    root : float or None
        As of `in_points`.

    Returns
    -------
    dict
        `gain_low, gain_high`, and `gain_squared_low, gain_squared_high` where there is a root.
    """
    columns = {"gain_low": in_points(bounds[0], root), "gain_high": in_points(bounds[1], root)}
    if root is not None:
        columns |= {"gain_squared_low": bounds[0], "gain_squared_high": bounds[1]}
    return columns


def within_reach(row, most):
    """Return a row whose gain is nowhere so far below 0 that the loss would be larger than it can be.

    Parameters
    ----------
    row : dict
        As of `decide_over_vendors`, or of one LLM.
    most : float
        The largest loss that there can be, `inf` where there is none.

    Returns
    -------
    dict
    """
    least, of_squares = row["loss_control"] - most, row["loss_control"] ** 2 - most**2
    ends = {"gain_low": least, "gain_plain_low": least, "gain_squared_low": of_squares}
    return row | {name: max(row[name], end) for name, end in ends.items() if row.get(name) is not None}


def varies(values):
    """Say whether there are several values that differ by more than rounding.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)

    Returns
    -------
    bool
    """
    return len(values) > 1 and bool(np.ptp(values) > ZERO * max(1.0, np.abs(values).max()))


def t_bounds(values, *, level):
    """Return Student's t bounds of the mean of gains.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        At least two gains.
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
