"""`content.framing_changes`: how often answers change the framing of their sources, and how sure that is.

Judges err, so that some texts seem to change that did not. Where the errors on two texts are independent, and it is
known how often each true label is taken for each other one, what the errors add can be taken off again.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.methods.crossed_effects import Arm, cell_weights, crossed_contrast, crossed_errors, design, level_of
from analysis.methods.effect_sizes import CONFIDENCE
from analysis.methods.small_samples import FEWEST_LLMS
from analysis.methods.t_and_f_tests import satterthwaite_df, t_bounds
from analysis.tables import columns, first_reason, reasons

COLUMNS = columns(
    "varchar: study paradigm technique llm",
    "double: phi phi_low phi_high phi_corrected phi_corrected_low phi_corrected_high",
    "double: identity_disagreement identity_disagreement_expected confidence",
    "bigint: n_items n_llms n_known_texts n_identity_pairs",
    "varchar: reason",
)
FEWEST_IDENTITY_PAIRS = 100  # how many there are and not what they say, which would choose among shares
CONFIDENCE_OF_INDEPENDENCE = 0.99
SINGULAR = 1e-6


@dataclass(frozen=True)
class Judging:
    """How often judges take each true label for each other one, and whether their errors on two texts are independent.

    Attributes
    ----------
    labels : list of str
        In the order of the rows (true) and columns (said) of `confusion`.
    confusion : numpy.ndarray or None
        Shares that sum to 1 in each row.
    true, said : pandas.Series
        Of each text of known label, by its name.
    disagreement, expected : float or None
        How often identical texts got two labels, and how often they would if errors were independent.
    n_pairs : int
    reason : str or None
        Why nothing can be corrected.
    """

    labels: list
    confusion: np.ndarray | None = None
    true: pd.Series = field(default_factory=pd.Series)
    said: pd.Series = field(default_factory=pd.Series)
    disagreement: float | None = None
    expected: float | None = None
    n_pairs: int = 0
    reason: str | None = None


def judging_of(texts, *, confidence=CONFIDENCE_OF_INDEPENDENCE):
    """Learn how judges err from originals of known label, and whether they err independently from identity pairs.

    From `FEWEST_IDENTITY_PAIRS` on errors count as independent unless the interval of the difference, between how often
    identical texts get two labels and how often independent errors would give them two, leaves 0 out.

    Parameters
    ----------
    texts : pandas.DataFrame
        `role, judged, label, correct` of the texts of one study, as of `int_texts_judged`.
    confidence : float in (0, 1)
        Of that interval: of judges that err independently the rest are taken not to.

    Returns
    -------
    Judging
        With the reason `no_known_label`, `label_never_known` (a label that judges give is the true one of no text),
        `judges_cannot_tell` (the labels that they give do not depend on the true ones, or not enough),
        `no_identity_pair`, `errors_not_independent`, `too_few_identity_pairs`.

    References
    ----------
    Rogan & Gladen (1978), Estimating prevalence from the results of a screening test, American Journal of Epidemiology
    107(1), 71-76, for two labels.
    """
    labelled = texts[texts["label"].notna()]
    originals = labelled[labelled["role"] == "original"].set_index("judged")
    known_originals = originals[originals["correct"].notna()]
    labels = sorted({*labelled["label"], *known_originals["correct"]})
    if known_originals.empty:
        return Judging(labels, reason="no_known_label")
    place = {label: number for number, label in enumerate(labels)}
    true, given_labels = known_originals["correct"].map(place), known_originals["label"].map(place)
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, (true.to_numpy(), given_labels.to_numpy()), 1)
    if not counts.sum(axis=1).all():
        return Judging(labels, true=true, said=given_labels, reason="label_never_known")
    confusion = counts / counts.sum(axis=1, keepdims=True)
    again = labelled[labelled["role"] == "identity"].set_index("judged")["label"].map(place)
    pairs = known_originals.index.intersection(again.index)
    fields = {"labels": labels, "confusion": confusion, "true": true, "said": given_labels, "n_pairs": len(pairs)}
    if np.linalg.svd(confusion, compute_uv=False)[-1] < SINGULAR:
        return Judging(**fields, reason="judges_cannot_tell")
    if not len(pairs):
        return Judging(**fields, reason="no_identity_pair")
    differs = (given_labels[pairs] != again[pairs]).to_numpy(float)
    by_chance = 1 - (confusion**2).sum(axis=1)
    expected = by_chance[true[pairs]]
    difference = differs.mean() - expected.mean()
    # what one text adds: as a pair, and as one of those that the confusion is known from
    influence = pd.Series(0.0, index=known_originals.index)
    influence[pairs] += (differs - expected - difference) / len(pairs)
    shares = np.bincount(true[pairs], minlength=len(labels)) / len(pairs)
    influence += _of_confusion(true, given_labels, confusion, 2 * shares[:, None] * confusion)
    error = np.sqrt((influence**2).sum())
    low, high = t_bounds(difference, error, max(len(pairs) - 1, 1), confidence)
    reason = first_reason(
        too_few_identity_pairs=len(pairs) < FEWEST_IDENTITY_PAIRS, errors_not_independent=low > 0 or high < 0
    )
    return Judging(**fields, disagreement=float(differs.mean()), expected=float(expected.mean()), reason=reason)


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
    Those of `judging_of` and of `analysis.methods.crossed_effects.crossed_contrast`.
    """
    for (study, paradigm), of_study in framings.groupby(["study", "paradigm"], sort=True):
        judging = judging_of(texts[texts["study"] == study])
        for technique, rows in of_study.groupby("technique", sort=True):
            keys = {"study": study, "paradigm": paradigm, "technique": technique}
            for llm in (None, *sorted(rows["llm"].unique())):
                chosen = rows if llm is None else rows[rows["llm"] == llm]
                yield keys | {"llm": llm} | _framing_row(chosen, judging, llm is None, confidence)


def _framing_row(rows, judging, is_of_all, confidence):
    cells = _Cells(rows)
    level = "both" if is_of_all else "over_items"
    few = is_of_all and len(cells.llms) < FEWEST_LLMS
    changed = (rows["source_label"] != rows["answer_label"]).to_numpy(float)
    contrast = crossed_contrast(cells.arm(changed), confidence=confidence)
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
    corrected = _corrected(cells, rows, judging, level, confidence)
    row["phi_corrected"] = corrected.estimate
    if not few:
        row |= {"phi_corrected_low": corrected.low, "phi_corrected_high": corrected.high}
        why = reasons(*dict.fromkeys((why, corrected.reason)))
    return row | {"reason": why}


class _Cells:
    """Where the rows of one technique stand among its LLMs and items."""

    def __init__(self, rows):
        self.llms, of_llm = np.unique(rows["llm"], return_inverse=True)
        of_unit, units = pd.factorize(pd.MultiIndex.from_frame(rows[["vignette", "item"]]))
        self.items = [item for _, item in units]
        self._place, self._n = (of_llm, of_unit), rows["n_trials"].to_numpy(float)
        self._shape = len(self.llms), len(units)

    def arm(self, values):
        """Return values of the rows, each of as many trials as it stands for, as an arm."""
        n, total = np.zeros(self._shape), np.zeros(self._shape)
        np.add.at(n, self._place, self._n)
        np.add.at(total, self._place, self._n * values)
        return Arm(n, total)


def _corrected(cells, rows, judging, level, confidence):
    """Return the share of changes without what errors add, with its interval.

    What is seen of pairs of labels is C' J C, of true pairs J and confusion C. The trace of J is linear in what is
    seen, so that it is a mean of the cells like any other; what the uncertainty of C adds goes with the texts that C is
    known from.
    """
    place = {label: number for number, label in enumerate(judging.labels)}
    seen = rows["source_label"].map(place).to_numpy(), rows["answer_label"].map(place).to_numpy()
    inverse = np.linalg.inv(judging.confusion)
    arm = cells.arm(1 - (inverse @ inverse.T)[seen])
    weights = cell_weights(arm.n, "llm")
    estimate = float((weights * arm.means).sum())
    pairs = np.zeros_like(judging.confusion)
    for source, answer in np.ndindex(pairs.shape):
        of_pair = cells.arm(((seen[0] == source) & (seen[1] == answer)).astype(float))
        pairs[source, answer] = (weights * of_pair.means).sum()
    true_pairs = inverse.T @ pairs @ inverse
    slopes = (true_pairs + true_pairs.T) @ inverse.T
    of_texts = _of_confusion(judging.true, judging.said, judging.confusion, slopes)
    # an item that is such a text has what the text adds in each of its cells; other texts are a sample of their own
    is_item = of_texts.index.isin(cells.items)
    per_item = weights.sum(axis=0)
    values = arm.means + of_texts[is_item].reindex(cells.items, fill_value=0.0).to_numpy() / per_item
    scores = weights * (values - (weights * values).sum())
    groups, is_balanced = design([weights])
    variance, df = crossed_errors(scores, weights, groups, is_balanced=is_balanced)[level]
    lacks = {"one_llm": level == "both" and len(scores) < 2, "one_item": len(cells.items) < 2}
    if not is_item.all():
        parts = [variance, (of_texts[~is_item] ** 2).sum()]
        variance, df = sum(parts), satterthwaite_df(parts, [df, np.count_nonzero(~is_item)])
    return level_of(estimate, variance, df, scale=1.0, confidence=confidence, lacks=lacks)


def _of_confusion(true, given_labels, confusion, slopes):
    """Return what each text of known label adds to a function of the confusion that has these slopes."""
    share = 1 / np.bincount(true, minlength=len(confusion))
    mean = (confusion * slopes).sum(axis=1)
    moved = (slopes[true, given_labels] - mean[true]) * share[true]
    return pd.Series(moved, index=true.index)
