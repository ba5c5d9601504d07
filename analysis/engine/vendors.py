"""Means over vendors, which are the units of a decision: LLMs of one vendor may resemble one another."""

from dataclasses import dataclass

import numpy as np

UNLISTED = "unlisted"  # of LLMs that nobody listed, as macros/vendors_of.sql has it


@dataclass(frozen=True)
class CriterionByLlm:
    """The criterion of one technique, the mean over the vignettes of each LLM, and the vendors of the LLMs."""

    llms: list
    vendors: list
    values: np.ndarray
    power: int

    @property
    def n_vendors(self):
        """How many vendors there are."""
        return len(set(self.vendors))

    def mean_loss(self):
        """Return the unweighted mean of vendors, in the unit of the loss."""
        return self.in_unit(vendor_means(self.values, self.vendors).mean())

    def in_unit(self, value):
        """Return a criterion in the unit of the loss: the root of a mean square, below 0 that of 0."""
        return np.sqrt(np.maximum(value, 0.0)) if self.power == 2 else value


def vendor_means(values, vendors):
    """Return the unweighted means of values of LLMs by vendor.

    Parameters
    ----------
    values : numpy.ndarray, shape (n LLMs, ...)
    vendors : list of str
        Of the LLMs.

    Returns
    -------
    numpy.ndarray, shape (n vendors, ...)
        Vendors in order of their names; NaN is left out of a mean, and is what nothing is the mean of.
    """
    known = ~np.isnan(values)
    names, place = np.unique(vendors, return_inverse=True)
    n, sums = np.zeros((2, len(names), *values.shape[1:]))
    np.add.at(n, place, known)
    np.add.at(sums, place, np.where(known, values, 0.0))
    return np.divide(sums, n, out=np.full(n.shape, np.nan), where=n > 0)
