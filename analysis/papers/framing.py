"""`content.framing_changes`: how often answers change the framing of their sources, and how sure that is."""

import numpy as np
import pandas as pd

from analysis.methods.confusion import judging_of
from analysis.methods.crossed_effects import Arm, crossed_contrast
from analysis.methods.effect_sizes import CONFIDENCE
from analysis.methods.small_samples import FEWEST_LLMS
from analysis.tables import columns, reasons

COLUMNS = columns(
    "varchar: study paradigm technique llm",
    "double: phi phi_low phi_high phi_corrected phi_corrected_low phi_corrected_high",
    "double: identity_disagreement identity_disagreement_expected confidence",
    "bigint: n_items n_llms n_known_texts n_identity_pairs",
    "varchar: reason",
)


def framing_rows(framings, texts, *, confidence=CONFIDENCE):
    """Say how often answers change the framing of their sources, of each LLM and of all, under each technique.

    Each LLM weighs the same, and each item within it. Intervals of an LLM are for other items, those of all LLMs for
    other LLMs and items, which are crossed. The corrected share may be a little below 0: it is as often too small as
    too large.

    Parameters
    ----------
    framings : pandas.DataFrame
        `study, paradigm, llm, technique, vignette, item, source_label, answer_label, n_trials`, both labels known.
    texts : pandas.DataFrame
        Rows of `int_texts_judged`.
    confidence : float in (0, 1)

    Yields
    ------
    dict
        Rows of `COLUMNS`; `llm` is null where the row is of all.

    References
    ----------
    Those of `analysis.methods.confusion.judging_of` and of `analysis.methods.crossed_effects.crossed_contrast`.
    """
    for (study, paradigm), of_study in framings.groupby(["study", "paradigm"], sort=True):
        judging = judging_of(texts[texts["study"] == study])
        for technique, rows in of_study.groupby("technique", sort=True):
            keys = {"study": study, "paradigm": paradigm, "technique": technique}
            for llm in (None, *sorted(rows["llm"].unique())):
                chosen = rows if llm is None else rows[rows["llm"] == llm]
                yield keys | {"llm": llm} | _framing_row(chosen, judging, llm is None, confidence)


def _framing_row(rows, judging, is_of_all, confidence):
    cells = _Cells(rows, judging.labels)
    level = "both" if is_of_all else "over_items"
    few = is_of_all and len(cells.llms) < FEWEST_LLMS
    contrast = crossed_contrast(cells.seen(), confidence=confidence)
    plain = getattr(contrast, level)
    row = {
        "phi": contrast.estimate,
        "identity_disagreement": judging.disagreement,
        "identity_disagreement_expected": judging.expected,
        "confidence": confidence,
        "n_items": contrast.n_items,
        "n_llms": contrast.n_llms,
        "n_known_texts": len(judging.true),
        "n_identity_pairs": judging.n_pairs,
    }
    if not few:
        row |= {"phi_low": plain.low, "phi_high": plain.high}
    why = "too_few_llms" if few else plain.reason
    if judging.reason:
        return row | {"reason": reasons(why, judging.reason)}
    corrected = getattr(crossed_contrast(cells.corrected(judging), confidence=confidence), level)
    row["phi_corrected"] = corrected.estimate
    if not few:
        row |= {"phi_corrected_low": corrected.low, "phi_corrected_high": corrected.high}
        why = reasons(*dict.fromkeys((why, corrected.reason)))
    return row | {"reason": why}


class _Cells:
    """Answers of one technique by the labels of source and answer, LLM and item."""

    def __init__(self, rows, labels):
        self.llms, of_llm = np.unique(rows["llm"], return_inverse=True)
        of_unit, units = pd.factorize(pd.MultiIndex.from_frame(rows[["vignette", "item"]]))
        self._items = [item for _, item in units]
        of_labels = (pd.Index(labels).get_indexer(rows[name]) for name in ("source_label", "answer_label"))
        self._n = np.zeros((len(labels), len(labels), len(self.llms), len(units)))
        np.add.at(self._n, (*of_labels, of_llm, of_unit), rows["n_trials"].to_numpy(float))

    def seen(self):
        """Return how often the two labels differ, as an arm."""
        n = self._n.sum(axis=(0, 1))
        return Arm(n, n - np.einsum("ss...->...", self._n))

    def corrected(self, judging):
        """Return the same without what judges get wrong."""
        return Arm(self._n.sum(axis=(0, 1)), judging.without_errors(self._n, self._items)[0])
