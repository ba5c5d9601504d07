"""How often judges take each true label for each other one, and how often texts differ without what they get wrong.

Judges err, so that some texts seem to change that did not. Where the errors on two texts are independent, and it is
known how often each true label is taken for each other one, what the errors add can be taken off again.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.methods.t_and_f_tests import t_bounds
from analysis.tables import first_reason

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

    def without_errors(self, n, items):
        """Return how often answers differ from their sources, item by item, without what judges get wrong.

        What is seen of pairs of labels is C' J C, of true pairs J and confusion C, so that the share of changes,
        1 - tr J, is linear in what is seen: each answer counts by its two labels. To these values each item has added
        what its text changes of the mean of the items through C. That is 0 over all texts, so that the mean stays, and
        what C leaves uncertain is in whatever is made of items: alike in all LLMs, since they are put the same ones. Of
        a text that is no item here, one of the items has it.

        Parameters
        ----------
        n : numpy.ndarray, shape (n labels, n labels, ..., n items)
            Answers by the label of the source and that of the answer.
        items : sequence of str
            The names of their texts.

        Returns
        -------
        tuple of numpy.ndarray, shape (..., n items)
            The sums of the values of answers and of their squares.
        """
        inverse = np.linalg.inv(self.confusion)
        values = 1 - inverse @ inverse.T
        total, squares = (np.einsum("st,st...->...", of_pair, n) for of_pair in (values, values**2))
        counts = n.sum(axis=(0, 1))
        has = counts > 0
        n_items = has.sum(axis=-1)
        weights = has / np.maximum(counts, 1) / np.maximum(n_items, 1)[..., None]
        true_pairs = inverse.T @ np.einsum("st...i,...i->...st", n, weights) @ inverse
        slopes = (true_pairs + np.swapaxes(true_pairs, -1, -2)) @ inverse.T
        of_texts = _of_confusion(self.true, self.said, self.confusion, slopes)
        place = pd.Series(np.arange(len(items)), index=items).groupby(level=0).first().reindex(self.true.index)
        place, added = place.fillna(-1).to_numpy(int), np.zeros(counts.shape)
        for cell in np.argwhere(n_items > 0):
            cell = tuple(cell)
            others = np.resize(np.flatnonzero(has[cell]), len(place))
            here = np.where((place >= 0) & has[cell][place], place, others)
            np.add.at(added[cell], here, n_items[cell] * of_texts[cell])
        return total + counts * added, squares + 2 * added * total + counts * added**2


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


def _of_confusion(true, given_labels, confusion, slopes):
    """Return what each text of known label adds to functions of the confusion that have these slopes."""
    share = 1 / np.bincount(true, minlength=len(confusion))
    mean = (confusion * slopes).sum(axis=-1)
    return (slopes[..., true, given_labels] - mean[..., true]) * share[true]
