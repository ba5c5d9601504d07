"""How far judges agree on labels, and how often they are right; intervals take the items as the sample.

Judges label items one by one, and what one item adds to a coefficient does not depend on the others: each coefficient
is a function of sums over items. Its interval leaves out one item after the other (jackknife), so that labels of one
item never count as independent.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.methods.contrasts import ROUNDING
from analysis.methods.small_samples import CONFIDENCE, share_interval
from analysis.methods.t_and_f_tests import t_bounds


@dataclass(frozen=True)
class Agreement:
    """A coefficient with its bounds, which are None where `reason` says why, and the items and labels it is made of."""

    estimate: float | None
    low: float | None
    high: float | None
    n_items: int
    n_labels: int
    reason: str | None = None

    def row(self, statistic):
        """Return what tables say of a coefficient, whoever gave the labels."""
        return {
            "statistic": statistic, "value": self.estimate, "low": self.low, "high": self.high,
            "confidence": CONFIDENCE, "n_texts": self.n_items, "reason": self.reason,
        }  # fmt: skip


def agreements(labels, coefficients):
    """Say how far judges agree, all together and each two of them.

    Parameters
    ----------
    labels : pandas.DataFrame
        A row for each item and a column for each judge; null where there is no label.
    coefficients : dict of str to callable
        What is said of all judges together, from counts of labels.

    Yields
    ------
    tuple of (dict, Agreement, tuple)
        The columns of `Agreement.row`; what they are made of; and the judges, none where it is of all. Of two judges
        it is Cohen's kappa, and without two there is nothing.
    """
    if labels.shape[1] > 1:
        counts, _ = label_counts(labels)
        for statistic, compute in coefficients.items():
            agreement = compute(counts)
            yield agreement.row(statistic), agreement, ()
    for pair in combinations(labels.columns, 2):
        agreement = cohen_kappa(*(labels[judge] for judge in pair))
        yield agreement.row("cohen_kappa"), agreement, pair


def label_counts(labels):
    """Count how many judges gave each label to each item.

    Parameters
    ----------
    labels : array_like, shape (n items, n judges)
        Anything that can be told apart; None or NaN where there is none.

    Returns
    -------
    counts : numpy.ndarray of int, shape (n items, n labels)
    names : list
        The labels, in the order of the columns.
    """
    codes, names = _codes(labels)
    return (codes[..., None] == np.arange(len(names))).sum(axis=1), names


def share_agreeing(counts, *, confidence=CONFIDENCE):
    """How often two judges give an item the same label: the mean over items of the share of pairs that agree.

    Parameters
    ----------
    counts : array_like of int, shape (n items, n labels)
        As of `label_counts`; items with fewer than two labels do not enter.
    confidence : float in (0, 1)

    Returns
    -------
    Agreement
        With two labels to an item throughout, the interval is the exact one of a share. Null with `no_pair`, `one_item`
        and, where more than two judges agree alike on each item, `zero_variance`.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76(5), 378-382, equation 2. Clopper & Pearson (1934), Biometrika 26(4).
    """
    counts = _with_pairs(counts)
    agreeing = _pairs_agreeing(counts)
    if len(counts) and (counts.sum(axis=1) == 2).all():
        return _share(round(float(agreeing.sum())), len(counts), int(counts.sum()), confidence)
    return _jackknifed(agreeing[:, None], lambda sums, n: sums[..., 0] / n, counts, confidence, least=0.0)


def cohen_kappa(labels_a, labels_b, *, confidence=CONFIDENCE):
    """Agreement of two judges beyond what their own shares of labels give by chance.

    Parameters
    ----------
    labels_a, labels_b : array_like, shape (n items,)
        Items without a label of both do not enter.
    confidence : float in (0, 1)

    Returns
    -------
    Agreement
        With bounds of Student's t, cut off at -1 and 1, which few items would let them pass: no kappa lies beyond. Null
        with `no_pair`, `one_item`, `one_label` (both give the same label to all, so that chance explains it) or
        `zero_variance`.

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20(1), 37-46.
    Efron & Stein (1981), The jackknife estimate of variance, Annals of Statistics 9(3), 586-596.
    """
    codes, names = _codes(np.array([list(labels_a), list(labels_b)], object).T)
    codes = codes[(codes >= 0).all(axis=1)]
    of_a, of_b = (codes[:, [judge]] == np.arange(len(names)) for judge in (0, 1))
    parts = np.column_stack([codes[:, 0] == codes[:, 1], of_a, of_b]).astype(float)

    def kappa(sums, n):
        shares = sums / np.asarray(n)[..., None]
        by_chance = (shares[..., 1 : 1 + len(names)] * shares[..., 1 + len(names) :]).sum(axis=-1)
        return _beyond_chance(shares[..., 0], by_chance)

    return _jackknifed(parts, kappa, of_a.astype(int) + of_b, confidence)


def fleiss_kappa(counts, *, confidence=CONFIDENCE):
    """Agreement of judges beyond what the shares of labels over all of them give by chance.

    Parameters
    ----------
    counts : array_like of int, shape (n items, n labels)
        As of `label_counts`. The coefficient asks for as many labels of each item: items with fewer than the most do
        not enter, of which `n_items` tells.
    confidence : float in (0, 1)

    Returns
    -------
    Agreement
        Bounds and reasons as of `cohen_kappa`.

    References
    ----------
    Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin 76(5), 378-382.
    """
    counts = _with_pairs(counts)
    counts = counts[counts.sum(axis=1) == counts.sum(axis=1).max(initial=0)]
    parts = np.column_stack([_pairs_agreeing(counts), counts])

    def kappa(sums, n):
        shares = sums[..., 1:] / np.maximum(sums[..., 1:].sum(axis=-1, keepdims=True), 1)
        return _beyond_chance(sums[..., 0] / n, (shares**2).sum(axis=-1))

    return _jackknifed(parts, kappa, counts, confidence)


def krippendorff_alpha(counts, *, confidence=CONFIDENCE):
    """Agreement beyond chance for labels without an order, where judges may have left items out.

    Parameters
    ----------
    counts : array_like of int, shape (n items, n labels)
        As of `label_counts`; an item with fewer than two labels has nothing to agree on and does not enter.
    confidence : float in (0, 1)

    Returns
    -------
    Agreement
        1 less observed over expected disagreement; bounds and reasons as of `cohen_kappa`.

    References
    ----------
    Krippendorff (2004), Content Analysis, second edition, section 11.3; Hayes & Krippendorff (2007), Answering the call
    for a standard reliability measure for coding data, Communication Methods and Measures 1(1), 77-89.
    """
    counts = _with_pairs(counts)
    coincidences = (counts * (counts - 1)).sum(axis=1) / (counts.sum(axis=1) - 1)
    parts = np.column_stack([coincidences, counts])

    def alpha(sums, _):
        of_labels = sums[..., 1:]
        n = of_labels.sum(axis=-1)
        expected = n**2 - (of_labels**2).sum(axis=-1)
        observed = (n - 1) * (n - sums[..., 0])
        # rounding can make one label look like two
        return 1 - np.divide(observed, expected, out=np.full(np.shape(n), np.nan), where=expected > 0.5)

    return _jackknifed(parts, alpha, counts, confidence)


def accuracy(labels, key, *, confidence=CONFIDENCE):
    """How often labels are the correct ones.

    Parameters
    ----------
    labels : array_like, shape (n items,) or (n items, n judges)
        None or NaN where there is none.
    key : array_like, shape (n items,)
        The correct label of each item; None or NaN where it is not known, and then the item does not enter.
    confidence : float in (0, 1)

    Returns
    -------
    Agreement
        Over all labels. With one label to an item the interval is the exact one of a share; with more, that of items.
        Null with `no_label`, `one_item`, `zero_variance`.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4), 404-413.
    """
    if len(key) != len(labels):
        raise ValueError(f"need a correct label for each item, got {len(key)} of {len(labels)}")
    labels = np.asarray(labels, object).reshape(len(labels), -1)
    codes, _ = _codes(np.column_stack([labels, np.array(list(key), object)]))
    labels, key = codes[:, :-1], codes[:, -1:]
    counted = (labels >= 0) & (key >= 0)
    right, n_labels = ((labels == key) & counted).sum(axis=1), counted.sum(axis=1)
    right, n_labels = right[n_labels > 0], n_labels[n_labels > 0]
    if not len(right):
        return Agreement(None, None, None, 0, 0, "no_label")
    if (n_labels == 1).all():
        return _share(int(right.sum()), len(right), len(right), confidence)
    parts = np.column_stack([right, n_labels])
    return _jackknifed(parts, lambda sums, _: sums[..., 0] / sums[..., 1], n_labels[:, None], confidence, least=0.0)


def _codes(labels):
    labels = np.asarray(labels, object)
    codes, names = pd.factorize(labels.ravel(), sort=False)
    return codes.reshape(labels.shape), list(names)


def _with_pairs(counts):
    counts = np.asarray(counts, int)
    return counts[counts.sum(axis=1) > 1]


def _pairs_agreeing(counts):
    n = counts.sum(axis=1)
    return (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))


def _beyond_chance(agreement, by_chance):
    by_chance = np.asarray(by_chance)
    room = 1 - by_chance
    return np.divide(agreement - by_chance, room, out=np.full(room.shape, np.nan), where=room > ROUNDING)


def _share(n_yes, n_items, n_labels, confidence):
    low, high = share_interval(n_yes, n_items, confidence=confidence)
    return Agreement(n_yes / n_items, float(low), float(high), n_items, n_labels)


def _jackknifed(parts, coefficient, counts, confidence, *, least=-1.0):
    """A coefficient of sums over items, with Student's t interval of its jackknife over items.

    `coefficient` takes sums of shape (..., m) and the number of items. The interval is cut off where no coefficient can
    be: below `least` and above 1.
    """
    n_items, n_labels = len(parts), int(counts.sum())
    if not n_items:
        return Agreement(None, None, None, 0, 0, "no_pair")
    sums = parts.sum(axis=0)
    estimate = float(coefficient(sums, n_items))
    if np.isnan(estimate):
        return Agreement(None, None, None, n_items, n_labels, "one_label")
    if n_items < 2:
        return Agreement(estimate, None, None, n_items, n_labels, "one_item")
    without = coefficient(sums - parts, n_items - 1)
    # without the only item that has another label chance explains all that is left: nothing can be said of the noise
    if np.isnan(without).any():
        return Agreement(estimate, None, None, n_items, n_labels, "one_item_decides")
    error = float(np.sqrt((n_items - 1) / n_items * ((without - without.mean()) ** 2).sum()))
    if error <= np.sqrt(ROUNDING):
        return Agreement(estimate, None, None, n_items, n_labels, "zero_variance")
    low, high = t_bounds(estimate, error, n_items - 1, confidence)
    return Agreement(estimate, max(low, least), min(high, 1.0), n_items, n_labels)
