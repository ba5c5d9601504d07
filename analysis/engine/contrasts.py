"""`inference.outcome_contrasts`: how large a bias is, and what it could be had every trial been answered.

A bias is the contrast of two arms of a paradigm, such as the share of one answer in a gain frame less that in a loss
frame. Of a paradigm with one arm it is the measure less its reference. It is made of how many values each LLM has on
each item in each arm, and of their sums.
"""

import numpy as np
import pandas as pd

from analysis.engine.grid import RECOMMENDED, Grid, by_measure, cell_differences, or_none
from analysis.methods.crossed_effects import (
    crossed_contrast,
    entering,
    mcnemar,
    paired_t,
    signed_bounds,
    spread_of_items,
)
from analysis.methods.small_samples import CONFIDENCE, FEWEST_LLMS
from analysis.methods.t_and_f_tests import holm
from analysis.tables import declared, reasons

LEVELS = {"both": "both", "llms": "over_llms", "items": "over_items"}
WEIGHTINGS = ("llm", "trial")
COLUMNS = declared("outcome_contrasts")


def contrast_rows(counts, paradigms, contrasts):
    """Estimate every contrast of arms, over LLMs, over items and over both, and of each LLM.

    Parameters
    ----------
    counts, paradigms, contrasts : pandas.DataFrame
        As of `analysis.engine.grid.by_measure`.

    Yields
    ------
    dict
        Rows of `COLUMNS`.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2). The references of `analysis.methods.crossed_effects`.
    """
    for _, of_paradigm in by_measure(counts, paradigms, contrasts):
        for measured in of_paradigm:
            rows = []
            for row_set, of_row_set in measured.counts.groupby("row_set", sort=True):
                grid = Grid(of_row_set, answered_alone=False, base=measured.base)
                for contrast in measured.contrasts:
                    keys = measured.keys | {"arm": contrast.arm, "arm_b": or_none(contrast.arm_b), "row_set": row_set}
                    span = _span(of_row_set, contrast, measured.base)
                    rows += [keys | _as_measured(row, contrast) for row in _contrasts(grid, contrast, span)]
            yield from _adjusted(rows)


def _as_measured(row, contrast):
    """The row; of an unsigned measure, in which chance counts as a difference, without what holds it against none."""
    if not contrast.is_unsigned:
        return row
    inferred = ("standard_error", "low", "high", "df", "p_value", "d_z", "d_z_low", "d_z_high", "p_items_alike")
    return row | dict.fromkeys(inferred) | {"reason": reasons(row["reason"], "unsigned")}


def _contrasts(grid, contrast, span):
    """Rows of one contrast of arms under each technique that was asked: over all LLMs, and of each of them."""
    pairing, reference = contrast.pairing, _reference(contrast)
    arms = grid.arms(contrast, reference)
    put = grid.n_put_in(contrast)
    ends = (-reference, 1.0 - reference) if contrast.is_share else (-np.inf, np.inf)
    for place, technique in enumerate(grid.techniques):
        of_technique = [one.at(place) for one in arms]
        put_here = [n[place] for n in put]
        by_item = cell_differences(of_technique, pairing)
        bounds = _Bounds(of_technique, put_here, pairing, ends)
        put_to = [llm for llm in range(len(grid.llms)) if sum(n[llm].sum() for n in put_here)]
        for weighting in WEIGHTINGS if put_to else ():
            keys = {"technique": technique, "weighting": weighting, "llm": None}
            mean = crossed_contrast(*of_technique, pairing=pairing, weighting=weighting)
            limits = bounds.columns(put_to) if weighting == "llm" else {}
            for level in LEVELS:
                row = keys | _level_row(mean, level, of_technique) | limits | _standardised(by_item, level)
                row |= _spread(by_item) if level == "both" and pairing == "item" else {}
                yield _with_range(_within(row, span))
            for llm in put_to:
                of_llm = [one.at([llm]) for one in of_technique]
                mean = crossed_contrast(*of_llm, pairing=pairing, weighting=weighting)
                row = keys | {"llm": grid.llms[llm]} | _level_row(mean, "items", of_llm)
                if weighting == "llm":
                    row |= bounds.columns([llm]) | _standardised(by_item[[llm]], "items") | _split(of_llm, pairing)
                yield _with_range(_within(row, span))


class _Bounds:
    """What a contrast could be had every trial been answered, of each LLM; items weigh the same."""

    def __init__(self, arms, put, pairing, ends):
        least, most = ends
        self.low, self.high = signed_bounds(arms, put, pairing=pairing, least=least, most=most)
        counts = entering([np.asarray(n, float) for n in put], pairing)
        self.n_asked = sum(n.sum(axis=-1) for n in counts)
        self.n_missing = sum(
            (n - np.where(n > 0, one.n, 0.0)).sum(axis=-1) for n, one in zip(counts, arms, strict=True)
        )

    def columns(self, llms):
        """Return the means over some LLMs, of those that were put both arms.

        Parameters
        ----------
        llms : list of int
            Their places.

        Returns
        -------
        dict
            `n_asked, n_missing`, and, where an LLM was put both arms, `value_least, value_most` in the unit of the
            measure.
        """
        llms = [llm for llm in llms if not np.isnan(self.low[llm])]
        sizes = {"n_asked": int(self.n_asked[llms].sum()), "n_missing": int(self.n_missing[llms].sum())}
        if not llms:
            return sizes
        return sizes | {"value_least": self.low[llms].mean(), "value_most": self.high[llms].mean()}


def _with_range(row):
    """The row with the code that says why its bounds are null, where missing answers have no ends."""
    if np.isfinite(row.get("value_least", 0.0)):
        return row
    return row | {"reason": reasons(row["reason"], "no_valid_range")}


def _span(counts, contrast, base):
    """What a contrast can be: of shares, and of numbers where each vignette says which are valid."""
    least, most = 0.0, 1.0
    if not contrast.is_share:
        ends = counts[["valid_min", "valid_max"]].astype(float).drop_duplicates().to_numpy()
        if contrast.measured_from != "answer" or np.isnan(ends).any() or (base is not None and (ends <= 0).any()):
            return -np.inf, np.inf
        if base is not None:  # an answer in percent of the mean of others, each of them valid
            ends = 100 * ends / ends[:, ::-1]
        least, most = ends[:, 0].min(), ends[:, 1].max()
    first, second = (
        (100.0, 100.0) if base is not None and arm == base else (least, most) for arm in (contrast.arm, contrast.arm_b)
    )
    if or_none(contrast.arm_b) is None:
        second = (_reference(contrast),) * 2
    return first[0] - second[1], first[1] - second[0]


def _within(row, span):
    """The row with its interval cut at what the contrast can be, which costs no coverage."""
    if row.get("low") is None:
        return row
    least, most = span
    return row | {"low": max(row["low"], least), "high": min(row["high"], most)}


def _level_row(mean, level, arms):
    of_level = getattr(mean, LEVELS[level])
    few = level != "items" and 0 < mean.n_llms < FEWEST_LLMS
    row = {
        "level": level,
        "value": mean.estimate,
        "confidence": CONFIDENCE,
        "method": mean.method if level == "both" else "one_way",
        "n_trials": mean.n_trials,
        "n_items": mean.n_items,
        "n_llms": mean.n_llms,
        "reason": of_level.reason,
    }
    if mean.estimate is None:
        has_arms = np.logical_and.reduce([one.n.any(axis=1) for one in arms]).any()
        return row | {"reason": "missing_pair" if has_arms else "missing_arm"}
    if few or of_level.reason:
        return row | {"reason": "too_few_llms" if few else of_level.reason}
    names = ("standard_error", "low", "high", "df", "p_value")
    return row | {name: getattr(of_level, name) for name in names}


def _reference(contrast):
    """Return what the only arm of a paradigm is compared with, 0 where there is another arm."""
    is_alone = or_none(contrast.arm_b) is None and not pd.isna(contrast.reference)
    return float(contrast.reference) if is_alone else 0.0


def _standardised(by_item, level):
    """d_z over the contrasts of LLMs, or over those of items; of both there is none."""
    if level == "both":
        return {}
    has = ~np.isnan(by_item)
    n = has.sum(axis=1 if level == "llms" else 0)
    means = np.nansum(by_item, axis=1 if level == "llms" else 0)[n > 0] / n[n > 0]
    if level == "llms" and len(means) < FEWEST_LLMS:
        return {}
    tested = paired_t(means)
    return {"d_z": tested.d_z, "d_z_low": tested.d_z_low, "d_z_high": tested.d_z_high}


def _spread(by_item):
    """How far the contrasts of items lie apart, alike in all LLMs, and how probable so much is if they are alike."""
    spread = spread_of_items(by_item)
    return {"sd_of_items": spread.sd, "p_items_alike": spread.p_value}


def _split(arms, pairing):
    """McNemar's test of one LLM, where each item was asked once in each of two arms and is 1 or 0."""
    if len(arms) < 2:
        return {}
    counts = entering([one.n for one in arms], pairing)
    has_both = (counts[0] > 0) & (counts[1] > 0)
    values = [one.total[has_both] for one in arms]
    is_once = pairing == "item" and all((one.n[has_both] == 1).all() for one in arms)
    if not (is_once and has_both.any() and all(np.isin(one, (0, 1)).all() for one in values)):
        return {}
    only = [int((values[one] > values[1 - one]).sum()) for one in (0, 1)]
    tested = mcnemar(*only)
    return {
        "n_only_arm": only[0],
        "n_only_arm_b": only[1],
        "p_mcnemar_exact": tested.p_exact,
        "p_mcnemar_mid": tested.p_mid,
    }


def _adjusted(rows):
    """Rows with Holm's p over the techniques and contrasts of a measure, alike in all else."""
    families = {}
    for row in rows:
        row["is_headline"] = row["level"] == "both" and all(row[name] == value for name, value in RECOMMENDED.items())
        if row.get("p_value") is not None:
            families.setdefault((row["row_set"], row["weighting"], row["level"], row["llm"]), []).append(row)
    for tested in families.values():
        for row, p_holm in zip(tested, holm([row["p_value"] for row in tested]), strict=True):
            row |= {"p_holm": float(p_holm), "n_tests": len(tested)}
    return rows
