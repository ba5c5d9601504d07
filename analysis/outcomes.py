"""`inference.outcome_contrasts`: how large a bias is.

A bias is the contrast of two arms of a paradigm, such as the share of one answer in a gain frame less that in a loss
frame. Of a paradigm with one arm it is the measure less its reference. It is made of how many values each LLM has on
each item in each arm, and of their sums.
"""

import numpy as np
import pandas as pd

from analysis.crossed_effects import Arm, crossed_contrast, entering, mcnemar, paired_t, spread_of_items
from analysis.engine.grid import RECOMMENDED, by_measure, cell_differences, or_none
from analysis.small_samples import CONFIDENCE, FEWEST_LLMS
from analysis.t_and_f_tests import holm
from analysis.tables import columns

LEVELS = {"both": "both", "llms": "over_llms", "items": "over_items"}
WEIGHTINGS = ("llm", "trial")
COLUMNS = columns(
    "varchar: study paradigm measure instrument technique arm arm_b llm row_set weighting level",
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
    Holm (1979), Scandinavian Journal of Statistics 6(2). The references of `analysis.crossed_effects`.
    """
    for _, of_paradigm in by_measure(counts, paradigms, contrasts):
        for measured in of_paradigm:
            rows = []
            for contrast in measured.contrasts:
                keys = measured.keys | {"arm": contrast.arm, "arm_b": or_none(contrast.arm_b)}
                for row_set, grid in measured.grids.items():
                    rows += [keys | {"row_set": row_set} | row for row in _contrasts(grid, contrast)]
            yield from _adjusted(rows)


def _contrasts(grid, contrast):
    """Rows of one contrast of arms under each technique: over all LLMs, and of each of them."""
    arms = grid.arms(contrast, _reference(contrast))
    for place, technique in enumerate(grid.techniques):
        of_technique = [Arm(one.n[place], one.total[place], one.squares[place]) for one in arms]
        by_item = cell_differences(of_technique, contrast.pairing)
        for weighting in WEIGHTINGS:
            keys = {"technique": technique, "weighting": weighting}
            found = crossed_contrast(*of_technique, pairing=contrast.pairing, weighting=weighting)
            for level in LEVELS:
                row = keys | _level_row(found, level) | {"llm": None} | _standardised(by_item, level)
                yield row | (_spread(by_item) if level == "both" and contrast.pairing == "item" else {})
        for row, llm in enumerate(grid.llms):
            of_llm = [Arm(*(part[[row]] for part in (one.n, one.total, one.squares))) for one in of_technique]
            found = crossed_contrast(*of_llm, pairing=contrast.pairing)
            if found.estimate is not None:
                yield {
                    "technique": technique, "weighting": RECOMMENDED["weighting"], "llm": llm,
                    **_level_row(found, "items"), **_standardised(by_item[[row]], "items"),
                    **_split(of_llm, contrast.pairing),
                }  # fmt: skip


def _level_row(found, level):
    of_level = getattr(found, LEVELS[level])
    few = level != "items" and 0 < found.n_llms < FEWEST_LLMS
    row = {
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


def _reference(contrast):
    """Return what the only arm of a paradigm is held against."""
    reference = getattr(contrast, "reference", None)
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
        row["is_headline"] = row["level"] == "both" and all(row[name] == value for name, value in RECOMMENDED.items())
        if row.get("p_value") is not None:
            families.setdefault((row["row_set"], row["weighting"], row["level"], row["llm"]), []).append(row)
    for tested in families.values():
        for row, p_holm in zip(tested, holm([row["p_value"] for row in tested]), strict=True):
            row |= {"p_holm": float(p_holm), "n_tests": len(tested)}
    return rows
