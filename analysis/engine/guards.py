"""What of a decision cannot stand: a bias that is turned round or moved, and items that are a sample as LLMs are."""

import numpy as np
from scipy import special

from analysis.engine.domain_losses import linear_squares
from analysis.engine.grid import cell_differences
from analysis.engine.rule import decide, one_sided, with_bounds
from analysis.methods.crossed_effects import Arm, crossed_contrast
from analysis.methods.small_samples import FEWEST_VENDORS

REVERSED, MOVED, JUDGED = "bias_reversed", "bias_moved", "judge_errors_counted"
HANGS = "hangs_on_suspect_rows"  # another decision without what the gate doubts
ALONE = "one_technique"  # takes back no decision: places among techniques of which there is one
# what judges get wrong, if it is not taken off, makes gains look smaller: it can hide a difference and not make one
CANNOT_STAND = {REVERSED: ("use", "equivalent"), MOVED: ("equivalent",), JUDGED: ("equivalent",)}
OVER_BOTH = "t_over_vendors_and_items"
WITHHELD = "withheld"


def over_units_and_items(values):
    """Return the mean of values of LLMs or vendors and items with its interval, or None where none can be had of items.

    Parameters
    ----------
    values : numpy.ndarray, shape (n units, n items)
        NaN where there is none.

    Returns
    -------
    analysis.methods.crossed_effects.Crossed or None
    """
    has = ~np.isnan(values)
    mean = crossed_contrast(Arm(has.astype(float), np.where(has, values, 0.0)))
    return None if mean.both.df is None else mean


class ItemLosses:
    """Losses of each technique, LLM and item in percent of an arm: the same as `ItemContrasts`, of several contrasts.

    Parameters
    ----------
    losses : DomainLosses
    goal : str
    """

    pairing = "item"

    def __init__(self, losses, goal):
        self.losses, self.goal, self.llms = losses, goal, losses.llms

    def gain(self, technique, control, among=None):
        """Return what each item adds to what a technique gains on its control, to first order.

        Parameters
        ----------
        technique, control : str
        among : collection of str, optional
            The LLMs that enter; all by default.

        Returns
        -------
        numpy.ndarray, shape (n LLMs, n items)
            NaN where one of the two has no loss of an item.
        """
        of_both = (self.losses.of_items(self.goal, name) for name in (control, technique))
        return self._among(np.subtract(*of_both), among)

    def over_both(self, values):
        """Return the mean over units and items.

        Parameters
        ----------
        values : numpy.ndarray, shape (n units, n items)
            Units are LLMs or vendors.

        Returns
        -------
        analysis.methods.crossed_effects.Crossed or None
            As of `over_units_and_items`; None where arms are not paired by item.
        """
        return over_units_and_items(values) if self.pairing == "item" else None

    def _among(self, values, among):
        return values if among is None else values[np.isin(self.llms, list(among))]


class CaseLosses(ItemLosses):
    """Losses of each technique, LLM and case: the same as `ItemLosses`, where no items are averaged first."""

    def gain(self, technique, control, among=None):
        """Return what a technique gains on its control on each item, as of `ItemLosses.gain`."""
        of_both = (self.losses.of_cases(self.goal, name) for name in (control, technique))
        return self._among(np.subtract(*of_both), among)


class ItemContrasts(ItemLosses):
    """Contrasts of each technique, LLM and item, and how sure their means are for other LLMs and other items.

    Parameters
    ----------
    grid : Grid
    arms : list of Arm
        One or two, of shape (n techniques, n LLMs, n items).
    pairing : {'item', 'between'}
    """

    def __init__(self, grid, arms, pairing):
        self.grid, self.pairing, self.llms = grid, pairing, grid.llms
        self._vignette_of = np.zeros(len(grid.units), int)
        for place, items in enumerate(grid.of_vignette):
            self._vignette_of[items] = place
        self.values = np.stack(
            [
                cell_differences([Arm(one.n[place], one.total[place]) for one in arms], pairing)
                for place, _ in enumerate(grid.techniques)
            ]
        )

    def gain(self, technique, control, among=None):
        """Return what each item adds to a gain, as of `ItemLosses.gain`."""
        places = [self.grid.techniques.index(name) for name in (control, technique)]
        values = self.values[places]
        values = np.where(np.isnan(values).any(axis=0), np.nan, values)  # on the same items
        of_both = (linear_squares(one, self._vignette_of) for one in values)
        return self._among(np.subtract(*of_both), among)


def stood(row, gains, basis, family):
    """Return a row with what stands of its decisions, in view of other items and of what happens to the bias itself.

    Parameters
    ----------
    row : dict
        What was decided, as of `analysis.engine.rule.decide_over_vendors`, with `technique, control, llm, n_llms` and
        `n_comparisons`; `llm` is None over LLMs.
    gains : Gains
        Of the same LLMs.
    basis : Basis
    family : Family
        The rows that share the confidence.

    Returns
    -------
    row : dict
        With `certainty` `withheld` where a decision could not stand.
    codes : list of str
        Why, and what limits the decision.
    """
    row = row | _over_items(row, gains, basis)
    if not {REVERSED, MOVED, JUDGED} & {*basis.guards}:
        return row, []
    first, n_reversed = _change_of_bias(gains, basis, family)
    changed = taken_back(row, first)
    codes = [first] if changed or first == REVERSED else []
    if judged := why_judged(basis):
        changed |= taken_back(row | changed, JUDGED)
    codes += judged
    return row | changed | {"n_reversed": n_reversed} | ({"certainty": WITHHELD} if changed else {}), codes


def cannot_stand(gains, basis, family):
    """Return the words that no interval of these gains could be given now, with the code that says why.

    Parameters
    ----------
    gains, basis, family
        As of `stood`.

    Returns
    -------
    dict of str to str
    """
    if not {REVERSED, MOVED, JUDGED} & {*basis.guards}:
        return {}
    codes = [*why_judged(basis), _change_of_bias(gains, basis, family)[0]]
    return {word: code for code in codes for word in CANNOT_STAND.get(code, ())}


def why_judged(basis):
    """Return the codes that say that what judges get wrong is in the losses, and why.

    Parameters
    ----------
    basis : Basis

    Returns
    -------
    list of str
    """
    return [code for code in basis.guards if code not in (REVERSED, MOVED)]


def _change_of_bias(gains, basis, family):
    """The code of what a technique does to the bias itself, or None, and how many LLMs have theirs turned round."""
    margin = basis.margin
    n_reversed = int(gains.reversals(level=one_sided(family.n_of_llms), margin=margin).sum())
    if n_reversed and REVERSED in basis.guards:
        return REVERSED, n_reversed
    return MOVED if MOVED in basis.guards and (gains.moved() > margin).any() else None, n_reversed


def taken_back(row, code):
    """Return those decisions of a row that cannot stand for this reason, as no evidence.

    Parameters
    ----------
    row : dict
    code : str or None

    Returns
    -------
    dict
    """
    words = CANNOT_STAND.get(code, ())
    return {name: "no_evidence" for name in ("decision", "decision_llms") if row.get(name) in words}


def _over_items(row, gains, basis):
    """Bounds of the mean gain for other items too, where these are wider than those for other vendors on these items.

    All LLMs are put the same items, so that what a technique does to one item is the same error in all of them, which
    the differences between vendors do not show.
    """
    if basis.items is None or row["llm"] is not None or row.get("gain_low") is None:
        return {}
    mean = mean_over_items(row, gains, basis)
    if mean is None:
        return {}
    half = -special.stdtrit(mean.both.df, one_sided(row["n_comparisons"])) * mean.both.standard_error
    gain, low, high, root = criterion_of(row, gains)
    if half <= (high - low) / 2:
        return {}
    bounds = with_bounds((gain - half, gain + half), root)
    if row["n_vendors"] < FEWEST_VENDORS or row["decision"] is None:
        return bounds | {"method": OVER_BOTH}
    return bounds | {
        "method": OVER_BOTH, "decision": decide(gain - half, gain + half, margin=basis.margin, root=root)
    }  # fmt: skip


def mean_over_items(row, gains, basis):
    """Return the mean gain over vendors and items, or None where none can be had of items.

    Parameters
    ----------
    row, gains, basis
        As of `stood`.

    Returns
    -------
    analysis.methods.crossed_effects.Crossed or None
    """
    by_llm = basis.items.gain(row["technique"], row["control"], gains.llms)
    return basis.items.over_both(gains.by_vendor(by_llm))


def criterion_of(row, gains):
    """Return the gain of a row over LLMs with its bounds as the criterion has them, and the control's root.

    Parameters
    ----------
    row : dict
        As of `analysis.engine.rule.decide_over_vendors`, with bounds.
    gains : Gains

    Returns
    -------
    tuple of float
        Gain, lower and upper bound; and the root, None where the criterion is no square.
    """
    root = gains.root(gains.by_vendor(gains.control).mean())
    form = "gain" if root is None else "gain_squared"
    return *(row[name] for name in (form, f"{form}_low", f"{form}_high")), root
