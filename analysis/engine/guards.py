"""What of a decision cannot stand: a bias that is turned round or moved, and items that are a sample as LLMs are."""

import numpy as np
from scipy import special

from analysis.engine.grid import cell_differences
from analysis.engine.rule import decide, one_sided
from analysis.methods.crossed_effects import Arm, crossed_contrast
from analysis.methods.small_samples import FEWEST_LLMS

REVERSED, MOVED, JUDGED = "bias_reversed", "bias_moved", "judge_errors_counted"
ALONE = "one_technique"  # takes back no decision: places among techniques of which there is one
# what judges get wrong makes gains look smaller, so that it can hide a difference and not make one
CANNOT_STAND = {REVERSED: ("use", "equivalent"), MOVED: ("equivalent",), JUDGED: ("equivalent",)}
OVER_BOTH = "t_over_llms_and_items"
WITHHELD = "withheld"


def over_llms_and_items(values):
    """Return the mean of values of LLMs and items with its interval, or None where none can be had of items.

    Parameters
    ----------
    values : numpy.ndarray, shape (n LLMs, n items)
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

    def of_technique(self, technique, among=None):
        """Return the signed contrasts of a technique.

        Parameters
        ----------
        technique : str
        among : collection of str, optional
            The LLMs that enter; all by default.

        Returns
        -------
        numpy.ndarray, shape (n LLMs, n items)
            In percentage points; NaN where an item does not enter.
        """
        return self._among(self.losses.signed_items(self.goal, technique), among)

    def gain(self, technique, control, among=None):
        """Return what a technique gains on its control.

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
        """Return the mean over LLMs and items.

        Parameters
        ----------
        values : numpy.ndarray, shape (n LLMs, n items)

        Returns
        -------
        analysis.methods.crossed_effects.Crossed or None
            As of `over_llms_and_items`; None where arms are not paired by item.
        """
        return over_llms_and_items(values) if self.pairing == "item" else None

    def _among(self, values, among):
        return values if among is None else values[np.isin(self.llms, list(among))]


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
        self.values = np.stack(
            [
                cell_differences([Arm(one.n[place], one.total[place]) for one in arms], pairing)
                for place, _ in enumerate(grid.techniques)
            ]
        )

    def of_technique(self, technique, among=None):
        """Return the contrasts of a technique, in the unit of the measure, as of `ItemLosses.of_technique`."""
        return self._among(self.values[self.grid.techniques.index(technique)], among)

    def towards_none(self, technique, among=None):
        """Return contrasts that are positive where an LLM's vignette has its bias.

        Parameters
        ----------
        technique, among
            As of `of_technique`.

        Returns
        -------
        numpy.ndarray, shape (n LLMs, n items)
        """
        values = self.of_technique(technique, among)
        turned = np.zeros(values.shape)
        for items in self.grid.of_vignette:
            turned[:, items] = np.sign(np.nansum(values[:, items], axis=1, keepdims=True))
        return values * turned

    def gain(self, technique, control, among=None):
        """Return what a technique gains on its control, as of `ItemLosses.gain`."""
        return self.towards_none(control, among) - self.towards_none(technique, among)


def stood(row, gains, basis, among=None):
    """Return a row with what stands of its decisions, in view of other items and of what happens to the bias itself.

    Parameters
    ----------
    row : dict
        What was decided, as of `analysis.engine.rule.decide_from_gains`, with `technique, control, llm, n_llms` and
        `n_comparisons`; `llm` is None over LLMs.
    gains : Gains
        Of the same LLMs.
    basis : Basis
    among : collection of str, optional
        The LLMs that enter; all by default.

    Returns
    -------
    row : dict
        With `certainty` `withheld` where a decision could not stand.
    codes : list of str
        Why, and what limits the decision.
    """
    row = row | _over_items(row, basis, among)
    if not {REVERSED, MOVED, JUDGED} & {*basis.guards}:
        return row, []
    first, n_reversed = _change_of_bias(row, gains, basis, among)
    changed = taken_back(row, first)
    codes = [first] if changed or first == REVERSED else []
    if JUDGED in basis.guards:
        changed |= taken_back(row | changed, JUDGED)
        codes.append(JUDGED)
    return row | changed | {"n_reversed": n_reversed} | ({"certainty": WITHHELD} if changed else {}), codes


def cannot_stand(row, gains, basis):
    """Return the words that no interval of these gains could be given now, with the code that says why.

    Parameters
    ----------
    row, gains, basis
        As of `stood`.

    Returns
    -------
    dict of str to str
    """
    if not {REVERSED, MOVED, JUDGED} & {*basis.guards}:
        return {}
    codes = [JUDGED] if JUDGED in basis.guards else []
    codes.append(_change_of_bias(row, gains, basis, None)[0])
    return {word: code for code in codes for word in CANNOT_STAND.get(code, ())}


def _change_of_bias(row, gains, basis, among):
    """The code of what a technique does to the bias itself, or None, and how many LLMs have theirs turned round."""
    margin = basis.margin
    n_reversed = int(gains.reversals(level=one_sided(len(gains.llms)), margin=margin).sum())
    is_reversed = n_reversed > 0 or gains.p_none_reversed(margin=margin) < one_sided()
    if basis.items and row["llm"] is None:
        is_reversed = is_reversed or _is_turned(row, basis.items, among)
    if is_reversed and REVERSED in basis.guards:
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
    return {name: "no_evidence" for name in ("decision", "decision_asked") if row.get(name) in words}


def _over_items(row, basis, among):
    """Bounds of the mean gain for other items too, where these are wider than those for other LLMs on these items.

    All LLMs are put the same items, so that what a technique does to one item is the same error in all of them, which
    the differences between LLMs do not show.
    """
    if basis.items is None or row["llm"] is not None or row.get("gain_low") is None:
        return {}
    mean = basis.items.over_both(basis.items.gain(row["technique"], row["control"], among))
    if mean is None:
        return {}
    half = -special.stdtrit(mean.both.df, one_sided(row["n_comparisons"])) * mean.both.standard_error
    if half <= row["gain_high"] - row["gain"]:
        return {}
    bounds = {"gain_low": row["gain"] - half, "gain_high": row["gain"] + half}
    decision = decide(*bounds.values(), margin=basis.margin) if row["n_llms"] >= FEWEST_LLMS else row["decision"]
    return bounds | {"method": OVER_BOTH, "decision": row["decision"] and decision}


def _is_turned(row, items, among):
    """Whether the mean over LLMs and items is surely on the other side of none than without the technique."""
    under, without = (items.of_technique(row[name], among) for name in ("technique", "control"))
    mean = items.over_both(under)
    if mean is None or mean.n_llms < FEWEST_LLMS:
        return False
    is_sure = mean.both.low > 0 or mean.both.high < 0
    return bool(is_sure and mean.estimate * np.nanmean(np.nanmean(without, axis=1)) < 0)
