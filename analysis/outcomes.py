"""`inference.outcome_contrasts`, `outcome_decisions`, `outcome_predictions`: how large a bias is and what helps.

A bias is the contrast of two arms of a paradigm, such as the share of one answer in a gain frame less that in a loss
frame. Of a paradigm with one arm it is the measure less its reference. It is made of how many values each LLM has on
each item in each arm, and of their sums.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from analysis.crossed_effects import (
    Arm,
    crossed_contrast,
    entering,
    mcnemar,
    paired_t,
    signed_bounds,
    signed_contrasts,
    spread_of_items,
)
from analysis.decisions import COLUMNS as OF_DECISIONS
from analysis.decisions import PREDICTIONS as OF_PREDICTIONS
from analysis.decisions import WITHHELD, comparisons, decide, decisions_of_losses, one_sided, with_certainty
from analysis.losses import DomainLosses
from analysis.measures import best_value
from analysis.small_samples import CONFIDENCE, FEWEST_LLMS
from analysis.t_and_f_tests import holm
from analysis.tables import columns, reasons

LEVELS = {"both": "both", "llms": "over_llms", "items": "over_items"}
WEIGHTINGS = ("llm", "trial")
MAIN = {"row_set": "accepted", "weighting": "llm"}
BIAS = "bias"
STREAM = ("paradigm", "measure", "arm", "arm_b", "instrument")  # what names a stream of random numbers
COUNTS = ["n_asked", "n_trials", "sum_of_values", "sum_of_squares"]

KEYS = "study paradigm measure instrument technique arm arm_b"
CONTRASTS = columns(
    f"varchar: {KEYS} llm row_set weighting level",
    "boolean: is_headline",
    "double: value standard_error low high df p_value p_holm",
    "bigint: n_tests",
    "double: d_z d_z_low d_z_high sd_of_items p_items_alike",
    "bigint: n_only_arm n_only_arm_b",
    "double: p_mcnemar_exact p_mcnemar_mid confidence",
    "varchar: method",
    "bigint: n_trials n_items n_llms",
    "varchar: reason",
)
RENAMED = {"domain": "paradigm", "margin_pp": "margin"}
LEFT_OUT = ("metric", "is_primary")
# among techniques of which there is one, it is the best and the worst, which says nothing
OF_PLACES = {"p_best", "p_worst", "p_best_new_llm", "rank_low", "rank_high"}
PLACE_OF = {"rank_probabilities": "p_best", "predictions": "p_best_new_llm"}


JUDGED = "judge_errors_counted"
DESCRIBES = "measurement"  # nothing is decided on what is measured from it
# what judges get wrong makes gains look smaller, so that it can hide a difference and not make one
CANNOT_STAND = {"bias_reversed": ("use", "equivalent"), "bias_moved": ("equivalent",), JUDGED: ("equivalent",)}
OVER_BOTH = "t_over_llms_and_items"


def _of_contrasts(declared):
    kept = {RENAMED.get(name, name): kind for name, kind in declared.items() if name not in LEFT_OUT}
    return columns("varchar: study paradigm measure instrument arm arm_b") | kept


DECISIONS = _of_contrasts(OF_DECISIONS) | columns("bigint: n_reversed n_surely_beyond_margin")
PREDICTIONS = _of_contrasts(OF_PREDICTIONS)
OUTCOMES = {"part": "varchar", **CONTRASTS, **DECISIONS, **PREDICTIONS}


def outcome_rows(found, ranked, controls, *, n_draws, seed):
    """Estimate every contrast of arms, and decide on each ranked technique by how far the bias is from none.

    The loss of a technique is the absolute contrast of each LLM and vignette, corrected for what noise adds to an
    absolute value. Where one arm is held against a reference, and higher values are better without one being named, it
    is the distance from 1, the most that a share or a similarity can be; of numbers there is then no decision. What it
    gains on its control is decided on as in anchoring; where LLMs share items, bounds of the mean gain that take the
    items as a sample as well count in place of those over LLMs alone if they are wider. A bias that is turned round is
    as large as before, so no technique is `use` or `equivalent` that is seen to turn the bias of an LLM or of the mean
    round, or that is `equivalent` while it moves the bias of an LLM by more than the margin.

    Parameters
    ----------
    found : iterable of (str, str), list of Measured
        As of `by_measure`.
    ranked : collection of str
        The techniques that are decided on.
    controls : pandas.DataFrame
        As of `analysis.decisions.decision_rows`.
    n_draws, seed : int

    Yields
    ------
    dict
        Rows of `CONTRASTS`, `DECISIONS` and `PREDICTIONS`, with the table's name as `part`.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2). The references of `analysis.crossed_effects` and
    `analysis.decisions`.
    """
    for _, of_paradigm in found:
        decided = []
        for measured in of_paradigm:
            grids = measured.grids
            estimated = []
            for asked in measured.contrasts:
                keys = measured.keys | {"arm": asked.arm, "arm_b": or_none(asked.arm_b)}
                for row_set, grid in grids.items():
                    estimated += [keys | {"row_set": row_set} | row for row in _contrasts(grid, asked)]
                if MAIN["row_set"] in grids:
                    decided += _decisions(grids[MAIN["row_set"]], keys, asked, ranked, controls, n_draws, seed)
            yield from _adjusted(estimated)
        yield from _named(decided)


@dataclass(frozen=True)
class Measured:
    """Counts of one measure, as one instrument measures it, and the contrasts that are asked of it."""

    keys: dict
    counts: pd.DataFrame
    contrasts: list

    @cached_property
    def grids(self):
        """The counts of each row set that has any as a `Grid`."""
        by_row_set = self.counts.groupby("row_set", sort=True)
        return {row_set: Grid(rows) for row_set, rows in by_row_set if rows["n_trials"].any()}


def by_measure(counts, paradigms, contrasts):
    """Yield each study and paradigm, and what was measured in it.

    Parameters
    ----------
    counts : pandas.DataFrame
        Rows of `marts.item_counts`.
    paradigms : pandas.DataFrame
        `study, paradigm, measure, margin, pairing, is_share, better, reference, answer_kind, measured_from`: missing
        answers of a share are bounded by 0 and 1; `better, reference, answer_kind` are asked for where an `arm_b` is
        null; of what is measured from a `judgement` no decision is `equivalent`, and on a `measurement` none is made.
    contrasts : pandas.DataFrame
        `study, paradigm, arm, arm_b`; a null `arm_b` stands for the reference of the measure.

    Yields
    ------
    tuple of (str, str), list of Measured
    """
    pairs = contrasts.merge(paradigms, on=["study", "paradigm"])
    for (study, paradigm), of_paradigm in pairs.groupby(["study", "paradigm"], sort=True):
        here = counts[(counts["study"] == study) & (counts["paradigm"] == paradigm)]
        found = []
        for measure, of_measure in of_paradigm.groupby("measure", sort=True):
            rows = here[here["measure"] == measure]
            for name in sorted({or_none(name) for name in rows["instrument"]}, key=lambda name: name or ""):
                keys = {"study": study, "paradigm": paradigm, "measure": measure, "instrument": name}
                of_instrument = rows[rows["instrument"].isna() if name is None else rows["instrument"] == name]
                found.append(Measured(keys, of_instrument, list(of_measure.itertuples())))
        yield (study, paradigm), found


def or_none(name):
    """Return a name, or nothing where a frame has a null in its place."""
    return None if pd.isna(name) else name


class Grid:
    """Counts of one measure and row set as arrays of LLMs, vignettes, items of a vignette and techniques, by arm.

    What was never answered of an LLM, technique or vignette is not part of it.
    """

    def __init__(self, rows):
        answered = rows[rows["n_trials"] > 0]
        for name in ("llm", "technique", "vignette"):
            rows = rows[rows[name].isin(answered[name].unique())]
        self.llms, self.techniques = (sorted(rows[name].unique()) for name in ("llm", "technique"))
        units = rows[["vignette", "item"]].drop_duplicates().fillna("")
        self.units = sorted(units.itertuples(index=False, name=None))
        self.vignettes = sorted({vignette for vignette, _ in self.units})
        self.of_vignette = [
            np.array([place for place, (of, _) in enumerate(self.units) if of == vignette])
            for vignette in self.vignettes
        ]
        self._arms = {arm: self._array(of_arm) for arm, of_arm in rows.groupby("arm", sort=True)}

    def _array(self, rows):
        units = pd.MultiIndex.from_tuples(self.units)
        filled = np.zeros((len(COUNTS), len(self.techniques), len(self.llms), len(self.units)))
        place = (
            pd.Index(self.techniques).get_indexer(rows["technique"]),
            pd.Index(self.llms).get_indexer(rows["llm"]),
            units.get_indexer(pd.MultiIndex.from_arrays([rows["vignette"], rows["item"].fillna("")])),
        )
        for number, name in enumerate(COUNTS):
            filled[(number, *place)] = rows[name]
        return filled

    def without(self, llm):
        """Return the same of all LLMs but one."""
        others = [name != llm for name in self.llms]
        fewer = copy(self)
        fewer.llms = list(compress(self.llms, others))
        fewer._arms = {arm: filled[:, :, others] for arm, filled in self._arms.items()}
        return fewer

    def arm(self, name):
        """Return the arm, of shape (n techniques, n LLMs, n items), or nothing where it was not asked."""
        return Arm(*self._of_arm(name)[1:])

    def asked(self, name):
        """Return how many trials were put in the arm, answered or not, in the same shape."""
        return self._of_arm(name)[0]

    def _of_arm(self, name):
        shape = (len(COUNTS), len(self.techniques), len(self.llms), len(self.units))
        return self._arms.get(name, np.zeros(shape))

    def arms(self, asked, reference):
        """Return the arms of a contrast: two, or one with its distance from the reference."""
        arm = self.arm(asked.arm)
        if or_none(asked.arm_b) is not None:
            return [arm, self.arm(asked.arm_b)]
        squares = arm.squares - 2 * reference * arm.total + reference**2 * arm.n
        return [Arm(arm.n, arm.total - reference * arm.n, squares)]


def _contrasts(grid, asked):
    """Rows of one contrast of arms under each technique: over all LLMs, and of each of them."""
    arms = grid.arms(asked, _reference(asked))
    for place, technique in enumerate(grid.techniques):
        of_technique = [Arm(one.n[place], one.total[place], one.squares[place]) for one in arms]
        by_item = _differences(of_technique, asked.pairing)
        for weighting in WEIGHTINGS:
            keys = {"technique": technique, "weighting": weighting}
            found = crossed_contrast(*of_technique, pairing=asked.pairing, weighting=weighting)
            for level in LEVELS:
                row = keys | _level_row(found, level) | {"llm": None} | _standardised(by_item, level)
                yield row | (_spread(by_item) if level == "both" and asked.pairing == "item" else {})
        for row, llm in enumerate(grid.llms):
            of_llm = [Arm(*(part[[row]] for part in (one.n, one.total, one.squares))) for one in of_technique]
            found = crossed_contrast(*of_llm, pairing=asked.pairing)
            if found.estimate is not None:
                yield {
                    "technique": technique, "weighting": MAIN["weighting"], "llm": llm, **_level_row(found, "items"),
                    **_standardised(by_item[[row]], "items"), **_split(of_llm, asked.pairing),
                }  # fmt: skip


def _level_row(found, level):
    of_level = getattr(found, LEVELS[level])
    few = level != "items" and 0 < found.n_llms < FEWEST_LLMS
    row = {
        "part": "outcome_contrasts",
        "level": level,
        "value": found.estimate,
        "confidence": CONFIDENCE,
        "method": found.method if level == "both" else "one_way",
        "n_trials": found.n_trials,
        "n_items": found.n_items,
        "n_llms": found.n_llms,
        "reason": of_level.reason,
    }
    if few or of_level.reason:
        return row | {"reason": "too_few_llms" if few else of_level.reason}
    names = ("standard_error", "low", "high", "df", "p_value")
    return row | {name: getattr(of_level, name) for name in names}


def _differences(arms, pairing):
    """Contrast of each LLM and item, NaN where an LLM has not both arms of it."""
    counts = entering([one.n for one in arms], pairing)
    has_all = np.logical_and.reduce([n > 0 for n in counts])
    return np.where(has_all, arms[0].means - sum(one.means for one in arms[1:]), np.nan)


def _reference(asked):
    """Return what the only arm of a paradigm is held against."""
    reference = getattr(asked, "reference", None)
    return 0.0 if pd.isna(reference) else float(reference)


def _standardised(by_item, level):
    """d_z over the contrasts of LLMs, or over those of items; of both there is none."""
    if level == "both":
        return {}
    has = ~np.isnan(by_item)
    n = has.sum(axis=1 if level == "llms" else 0)
    means = np.nansum(by_item, axis=1 if level == "llms" else 0)[n > 0] / n[n > 0]
    if level == "llms" and len(means) < FEWEST_LLMS:
        return {}
    found = paired_t(means)
    return {"d_z": found.d_z, "d_z_low": found.d_z_low, "d_z_high": found.d_z_high}


def _spread(by_item):
    """How far the contrasts of items lie apart, alike in all LLMs, and how probable so much is if they are alike."""
    found = spread_of_items(by_item)
    return {"sd_of_items": found.sd, "p_items_alike": found.p_value}


def _split(arms, pairing):
    """McNemar's test of one LLM, where each item was asked once in each of two arms and is 1 or 0."""
    if len(arms) < 2:
        return {}
    counts = entering([one.n for one in arms], pairing)
    has_both = (counts[0] > 0) & (counts[1] > 0)
    values = [one.total[has_both] for one in arms]
    is_once = pairing == "item" and all((one.n[has_both] == 1).all() for one in arms)
    if not (is_once and has_both.any() and all(np.isin(of, (0, 1)).all() for of in values)):
        return {}
    only = [int((values[one] > values[1 - one]).sum()) for one in (0, 1)]
    found = mcnemar(*only)
    return {
        "n_only_arm": only[0],
        "n_only_arm_b": only[1],
        "p_mcnemar_exact": found.p_exact,
        "p_mcnemar_mid": found.p_mid,
    }


def _adjusted(rows):
    """Rows with Holm's p over the techniques and contrasts of a measure, alike in all else."""
    families = {}
    for row in rows:
        row["is_headline"] = row["level"] == "both" and all(row[name] == of for name, of in MAIN.items())
        if row.get("p_value") is not None:
            families.setdefault((row["row_set"], row["weighting"], row["level"], row["llm"]), []).append(row)
    for tested in families.values():
        for row, p_holm in zip(tested, holm([row["p_value"] for row in tested]), strict=True):
            row |= {"p_holm": float(p_holm), "n_tests": len(tested)}
    return rows


def _decisions(grid, keys, asked, ranked, controls, n_draws, seed):
    """Rows of decisions and predictions on one contrast, certainty aside."""
    of_contrast = ContrastLosses.of(grid, asked)
    if of_contrast is None:
        return []
    pairs = comparisons(keys["study"], keys["paradigm"], grid.techniques, ranked, controls)
    stream = "/".join(filter(None, (keys[name] for name in STREAM)))
    is_alone = sum(pair.kind == "control" for pair in pairs) == 1
    found = []
    for row in of_contrast.decisions(keys["study"], stream, pairs, n_draws=n_draws, seed=seed):
        row |= keys
        if is_alone and row.get(PLACE_OF.get(row["part"])) is not None:
            row |= dict.fromkeys(OF_PLACES.intersection(row)) | {"reason": reasons(row["reason"], "one_technique")}
        found.append(row)
    return found


class ContrastLosses(NamedTuple):
    """What decisions on one contrast rest on: losses of each LLM and vignette, and the contrasts of single items."""

    losses: DomainLosses
    of_cells: "_Cells"
    margin: float
    is_judged: bool

    @classmethod
    def of(cls, grid, asked):
        """Make those of a contrast, or nothing where nobody says which value is without bias, or a measure describes.

        What is measured of texts, such as a similarity, says how an answer is made and not whether it is wrong.

        Parameters
        ----------
        grid : Grid
        asked : namedtuple
            Of a contrast and what its paradigm declares: `arm, arm_b, pairing, is_share, margin, better, reference,
            answer_kind, measured_from`.
        """
        arm_b = or_none(asked.arm_b)
        best = 0.0 if arm_b is not None else best_value(asked.better, or_none(asked.reference), asked.answer_kind)
        if best is None or asked.measured_from == DESCRIBES:
            return None
        arms = grid.arms(asked, best)
        found = [
            signed_contrasts(*(Arm(*(part[..., items] for part in (one.n, one.total, one.squares))) for one in arms),
                             pairing=asked.pairing)
            for items in grid.of_vignette
        ]  # fmt: skip
        signed = type(found[0])(
            *(
                np.moveaxis(np.stack([getattr(of, name) for of in found]), (0, 1, 2), (1, 2, 0))
                for name in ("signed", "variance", "df", "n")
            )
        )
        ends = {"least": -best, "most": 1.0 - best} if asked.is_share else {}
        put = [grid.asked(name) for name in (asked.arm, arm_b) if name is not None]
        bounds = [
            signed_bounds(
                [Arm(one.n[..., items], one.total[..., items]) for one in arms],
                [n[..., items] for n in put],
                pairing=asked.pairing, **ends,
            )
            for items in grid.of_vignette
        ]  # fmt: skip
        bounds = [np.moveaxis(np.stack(of), (0, 1, 2), (1, 2, 0)) for of in zip(*bounds, strict=True)]
        losses = DomainLosses.of_contrasts(grid.llms, grid.vignettes, grid.techniques, BIAS, signed, bounds)
        margin = 0.0 if pd.isna(asked.margin) else float(asked.margin)
        return cls(losses, _Cells(grid, arms, asked.pairing), margin, asked.measured_from == "judgement")

    def decisions(self, study, stream, pairs, **options):
        """Yield rows as of `decisions_of_losses`, with the items as a sample too and what cannot stand taken back."""
        for row in decisions_of_losses(self.losses, [BIAS], study, stream, pairs, margin_pp=self.margin, **options):
            if row["part"] == "rank_probabilities" and row.get("gain") is not None:
                row |= _over_items_as_well(row, self.of_cells, self.margin)
                guarded = row | _guarded(row, self.losses, self.of_cells, self.margin)
                if self.is_judged:
                    guarded |= taken_back(guarded, JUDGED) | {"reason": reasons(guarded["reason"], JUDGED)}
                is_changed = any(guarded[name] != row[name] for name in ("decision", "decision_asked"))
                row = guarded | ({"certainty": WITHHELD} if is_changed else {})
            yield row


class _Cells:
    """Contrasts of each technique, LLM and item, and how sure their means are for other LLMs and other items."""

    def __init__(self, grid, arms, pairing):
        self.grid, self.pairing = grid, pairing
        self.values = np.stack(
            [
                _differences([Arm(one.n[place], one.total[place]) for one in arms], pairing)
                for place, _ in enumerate(grid.techniques)
            ]
        )

    def towards_none(self, technique):
        """Return contrasts of shape (n LLMs, n items), positive where an LLM's vignette has its bias."""
        values = self.values[self.grid.techniques.index(technique)]
        turned = np.zeros(values.shape)
        for items in self.grid.of_vignette:
            turned[:, items] = np.sign(np.nansum(values[:, items], axis=1, keepdims=True))
        return values * turned

    def gain(self, technique, control):
        """Return what a technique gains on its control, of shape (n LLMs, n items)."""
        return self.towards_none(control) - self.towards_none(technique)

    def over_both(self, values):
        """Return the mean of values of LLMs and items with its interval, or nothing where none can be had of items."""
        if self.pairing != "item":
            return None
        has = ~np.isnan(values)
        found = crossed_contrast(Arm(has.astype(float), np.where(has, values, 0.0)))
        return None if found.both.df is None else found


def _over_items_as_well(row, of_cells, margin):
    """Bounds of the mean gain for other items too, where these are wider than those for other LLMs on these items.

    All LLMs are put the same items, so that what a technique does to one item is the same error in all of them, which
    the differences between LLMs do not show.
    """
    if row["llm"] is not None or row.get("gain_low") is None:
        return {}
    found = of_cells.over_both(of_cells.gain(row["technique"], row["control"]))
    if found is None:
        return {}
    half = -special.stdtrit(found.both.df, one_sided(row["n_comparisons"])) * found.both.standard_error
    bounds = {"gain_low": row["gain"] - half, "gain_high": row["gain"] + half}
    if half <= row["gain_high"] - row["gain"]:
        return {}
    decision = decide(*bounds.values(), margin_pp=margin) if row["n_llms"] >= FEWEST_LLMS else row["decision"]
    return bounds | {"method": OVER_BOTH, "decision": row["decision"] and decision}


def _guarded(row, losses, of_cells, margin):
    """What of a decision cannot stand, because the bias of an LLM is turned round, or moved by more than the margin."""
    gains = losses.compared(BIAS, row["technique"], row["control"], among=[row["llm"]] if row["llm"] else None)
    n_reversed = int(gains.reversals(level=one_sided(len(gains.llms)), margin=margin).sum())
    is_reversed = n_reversed > 0 or gains.p_none_reversed(margin=margin) < one_sided() or _is_turned(row, of_cells)
    is_moved = (gains.moved() > margin).any()
    changed = taken_back(row, "bias_reversed" if is_reversed else "bias_moved" if is_moved else None)
    code = "bias_reversed" if is_reversed else "bias_moved" if changed else None
    surely = {} if row["llm"] else {"n_surely_beyond_margin": _surely_beyond(gains, row["n_comparisons"], margin)}
    return changed | surely | {"n_reversed": n_reversed, "reason": reasons(row["reason"], code)}


def taken_back(row, code):
    """Return those decisions of a row that cannot stand where the bias is reversed or moved, as no evidence."""
    words = CANNOT_STAND.get(code, ())
    return {name: "no_evidence" for name in ("decision", "decision_asked") if row.get(name) in words}


def _surely_beyond(gains, n_comparisons, margin):
    """Count the LLMs of which all of the interval of the gain is beyond the margin, on either side."""
    low, high = gains.bounds_of_llms(level=one_sided(n_comparisons))
    return int(((low > margin) | (high < -margin)).sum())


def _is_turned(row, of_cells):
    """Whether the mean over LLMs and items is surely on the other side of none than without the technique."""
    if row["llm"] is not None:
        return False
    techniques = of_cells.grid.techniques
    under, without = (of_cells.values[techniques.index(row[name])] for name in ("technique", "control"))
    found = of_cells.over_both(under)
    if found is None or found.n_llms < FEWEST_LLMS:
        return False
    is_sure = found.both.low > 0 or found.both.high < 0
    return bool(is_sure and found.estimate * np.nanmean(np.nanmean(without, axis=1)) < 0)


def _named(rows):
    """Rows of decisions and predictions of one study under the names of their columns, certainty included."""
    certain = [row for row in rows if row["part"] == "rank_probabilities"]
    others = [row for row in rows if row["part"] != "rank_probabilities"]
    parts = {"rank_probabilities": "outcome_decisions", "predictions": "outcome_predictions"}
    for row in [*with_certainty(certain), *others]:
        kept = {name: value for name, value in row.items() if name not in (*LEFT_OUT, "domain")}
        yield {RENAMED.get(name, name): value for name, value in kept.items()} | {"part": parts[row["part"]]}
