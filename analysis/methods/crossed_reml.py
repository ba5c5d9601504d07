"""Variances of LLMs, of items and of single cells where not every LLM has every item, by restricted maximum likelihood.

The model of the mean of a cell is a common mean, what its LLM adds, what its item adds, and the rest. All is made of
matrices of LLMs by LLMs and of LLMs by items, for many tables with the same cells at once.
"""

from dataclasses import dataclass

import numpy as np

MOST_STEPS = 100
TOLERANCE = 1e-10
BEYOND = 0.2  # slope at the end of a step, against that at its start, from which on it went too far
MOST_BACK = -0.9  # of the step
# of LLMs, items and cells, as shares of the variance of all cells: cells keep some where the others explain everything
LEAST = np.array([0.0, 0.0, 1e-9])
SHRINKAGE = np.array([0.0, 0.0, 0.1])  # at most, in one step: near 0 the likelihood changes fast
RIDGE = 1e-11  # tells variances apart that the cells cannot, such as of items and cells where each item has one LLM


@dataclass(frozen=True)
class Components:
    """Estimated variances and what is known of them; arrays of shape (..., 3), in the order LLMs, items, cells.

    `information` has shape (..., 3, 3): it is the expected one of the restricted likelihood, and its inverse is the
    covariance of `variances` in large samples.
    """

    variances: np.ndarray
    information: np.ndarray

    def of_mean(self, slopes):
        """Return the variance of a mean, and the degrees of freedom that it is known with.

        Parameters
        ----------
        slopes : array_like, shape (3,)
            How much of each variance the mean has.

        Returns
        -------
        tuple of numpy.ndarray, shape (...)

        References
        ----------
        Giesbrecht & Burns (1985), Two-stage analysis based on a mixed model, Biometrics 41(2), 477-486, for the
        degrees of freedom: twice the square of the variance over the variance of that, by the delta method, with the
        variances that are estimated as 0 taken for known.
        """
        variance, fixed = self.variances @ np.asarray(slopes), self.variances <= 0
        slopes = np.where(fixed, 0.0, slopes)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_variance = (slopes * _solve(_without(self.information, fixed), slopes)).sum(axis=-1)
            return variance, 2 * variance**2 / of_variance


def components(values, has):
    """Estimate the variances of LLMs, items and cells, none below 0.

    Parameters
    ----------
    values : numpy.ndarray, shape (..., n LLMs, n items)
        What stands where there is no cell does not count.
    has : numpy.ndarray of bool, shape (n LLMs, n items)
        Where there is a cell; in each LLM and item somewhere, two at least.

    Returns
    -------
    Components
        In the squared unit of the values; 0 where they are all alike.

    References
    ----------
    Patterson & Thompson (1971), Recovery of inter-block information when block sizes are unequal, Biometrika 58(3),
    545-554. Searle, Casella & McCulloch (1992), Variance Components, sections 6.6 and 8.3, for the likelihood and for
    steps by Fisher's scoring, which are exact where no cell is missing.
    """
    cells = has.astype(float)
    values = np.where(has, values, 0.0)
    centred = np.where(has, values - values.sum(axis=(-2, -1), keepdims=True) / cells.sum(), 0.0)
    total = (centred**2).sum(axis=(-2, -1)) / (cells.sum() - 1)
    scale = np.sqrt(np.where(total > 0, total, 1.0))
    table = _Table(cells, centred / scale[..., None, None])
    found = table.start()
    step = before = np.zeros(found.shape)
    for _ in range(MOST_STEPS):
        slope, information = table.likelihood(found)
        fixed = (found <= LEAST) & (slope <= 0)
        scored = _solve(_without(information, fixed), np.where(fixed, 0.0, slope))
        # a step beyond the top of the likelihood goes back to where, between its ends, a slope of 0 is to be expected
        ahead, behind = (slope * step).sum(axis=-1, keepdims=True), (before * step).sum(axis=-1, keepdims=True)
        is_beyond = (ahead < -BEYOND * behind) & (behind > 0)
        back = np.maximum(ahead / np.where(is_beyond, behind - ahead, 1.0), MOST_BACK) * step
        further = np.maximum(found + np.where(is_beyond, back, scored), np.maximum(LEAST, SHRINKAGE * found))
        found, step, before = further, further - found, slope
        if np.abs(step).max(initial=0.0) < TOLERANCE:
            break
    _, information = table.likelihood(found)
    squared = scale[..., None] ** 2
    return Components(found * squared, information / squared[..., None] ** 2)


def n_left(has):
    """Return how many cells there are beyond those that effects of LLMs and items explain entirely.

    Parameters
    ----------
    has : numpy.ndarray of bool, shape (n LLMs, n items)
        Where there is a cell; in each LLM and item somewhere.

    Returns
    -------
    int
    """
    cells = has.astype(float)
    without_items = np.diag(cells.sum(axis=1)) - (cells / cells.sum(axis=0)) @ cells.T
    return int(cells.sum() - has.shape[1] - np.linalg.matrix_rank(without_items, tol=1e-9, hermitian=True))


class _Table:
    """Sums of cells by LLM and item, and the restricted likelihood that they give variances.

    Parameters
    ----------
    cells : numpy.ndarray, shape (n LLMs, n items)
        1 where there is one, else 0.
    values : numpy.ndarray, shape (..., n LLMs, n items)
        0 where there is none.
    """

    def __init__(self, cells, values):
        self.cells = cells
        self.per_llm, self.per_item, self.n = cells.sum(axis=1), cells.sum(axis=0), cells.sum()
        self.of_llms, self.of_items = values.sum(axis=-1), values.sum(axis=-2)
        self.squares = (values**2).sum(axis=(-2, -1))

    def start(self):
        """Return first variances, from those of the means of LLMs and of items."""
        of_llms = (self.of_llms / self.per_llm).var(axis=-1, ddof=1)
        of_items = (self.of_items / self.per_item).var(axis=-1, ddof=1)
        per_llm, per_item = self.per_llm.mean(), self.per_item.mean()
        rest = (self.squares / (self.n - 1) - of_llms - of_items) / max(1 - 1 / per_llm - 1 / per_item, 0.25)
        rest = np.maximum(rest, 0.05)
        return np.stack([np.maximum(of_llms - rest / per_llm, 0), np.maximum(of_items - rest / per_item, 0), rest], -1)

    def likelihood(self, variances):
        """Return the slope of the log likelihood at these variances, and the expected information.

        With P what is left of the inverse of the covariance V without the common mean, and V_k the part of V that goes
        with one variance, these are (y'P V_k P y - tr P V_k) / 2 and tr(P V_k P V_l) / 2. The inverse of what items
        and cells give is known; LLMs enter by Woodbury's identity, and the unit matrix by P V P = P.
        """
        llms, items, rest = (variances[..., place, None] for place in range(3))
        by_item = 1 / (rest + items * self.per_item)
        scaled = self.cells * by_item[..., None, :]
        of_llms = (np.eye(len(self.cells)) * self.per_llm - items[..., None] * (scaled @ self.cells.T)) / rest[
            ..., None
        ]
        inverse = np.linalg.inv(np.eye(len(self.cells)) + llms[..., None] * of_llms)
        both, across = inverse @ of_llms, inverse @ scaled
        row, column = both.sum(axis=-1), across.sum(axis=-2)
        total = row.sum(axis=-1)[..., None]
        both = both - row[..., :, None] * (row / total)[..., None, :]
        # what is left of the inverse between items is a diagonal less a matrix of low rank
        diagonal = self.per_item * by_item
        low = llms * (scaled * across).sum(axis=-2) + column**2 / total
        square = llms[..., None] * (across @ np.swapaxes(scaled, -1, -2))
        low_squared = (
            (square * np.swapaxes(square, -1, -2)).sum(axis=(-2, -1))
            + (2 * llms / total * _times(scaled, column) * _times(across, column)).sum(axis=-1)
            + ((column**2).sum(axis=-1) / total[..., 0]) ** 2
        )
        across = across - row[..., :, None] * (column / total)[..., None, :]
        llm, item, cell = llms[..., 0], items[..., 0], rest[..., 0]
        trace_llm, trace_item = np.trace(both, axis1=-2, axis2=-1), (diagonal - low).sum(axis=-1)
        trace_cell = (self.n - 1 - llm * trace_llm - item * trace_item) / cell
        between_llms, between = (both**2).sum(axis=(-2, -1)), (across**2).sum(axis=(-2, -1))
        between_items = (diagonal**2 - 2 * diagonal * low).sum(axis=-1) + low_squared
        llm_cell = (trace_llm - llm * between_llms - item * between) / cell
        item_cell = (trace_item - llm * between - item * between_items) / cell
        cell_cell = (trace_cell - llm * llm_cell - item * item_cell) / cell
        information = np.stack(
            [between_llms, between, llm_cell, between, between_items, item_cell, llm_cell, item_cell, cell_cell], -1
        ).reshape(*cell.shape, 3, 3)
        seen = (self.of_llms - items * _times(scaled, self.of_items)) / rest
        left = _times(inverse, seen)
        mean = left.sum(axis=-1)[..., None] / total
        quadratic = (
            (self.squares - item * (by_item * self.of_items**2).sum(axis=-1)) / cell
            - llm * (seen * left).sum(axis=-1)
            - (mean**2 * total)[..., 0]
        )
        from_llms = ((left - row * mean) ** 2).sum(axis=-1)
        of_items = by_item * self.of_items - llms * _times(np.swapaxes(scaled, -1, -2), left) - column * mean
        from_items = (of_items**2).sum(axis=-1)
        from_cells = (quadratic - llm * from_llms - item * from_items) / cell
        slope = np.stack([from_llms - trace_llm, from_items - trace_item, from_cells - trace_cell], -1)
        return slope / 2, information / 2


def _times(matrix, vector):
    return (matrix @ vector[..., None])[..., 0]


def _without(information, fixed):
    """The information of the variances that are not fixed, and the unit matrix for those that are."""
    is_left = ~(fixed[..., :, None] | fixed[..., None, :])
    return np.where(is_left, information, 0.0) + fixed[..., None] * np.eye(3)


def _solve(information, vector):
    return np.linalg.solve(
        information * (1 + RIDGE * np.eye(3)), np.broadcast_to(vector, information.shape[:-1])[..., None]
    )[..., 0]
