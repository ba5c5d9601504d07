"""Bootstrap of trials and of LLMs from counts: a resample of trials is one multinomial draw on distinct responses."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from analysis.counts import baseline_rows, selected, stream

DIRECTIONS = ("low", "high", "both")
CELL_METRICS = (
    "mean_response",
    "percent_of_baseline",
    "deviation",
    "madb_percent",
    "median_percent_of_baseline",
    "share_within_10_percent",
)
SPREADS = {"spread": "mean_response", "spread_pp": "percent_of_baseline"}  # of what, high less low
WITHIN = 10 + 1e-9
FEW_PER_RESPONSE = 4


def resampled_counts(counts, n_resamples, rng):
    """Draw resamples of trials, given how many trials gave each response.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
    n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray, shape (1 + n_resamples, k)
        The observed counts, then those of each resample: the same number of trials, drawn with replacement. It is what
        drawing trials one by one and counting gives (Efron & Tibshirani 1993, An Introduction to the Bootstrap,
        chapter 6), at a cost that does not depend on how many there are. What one response has lies together.
    """
    counts = np.asarray(counts, dtype=np.int64)
    n, k = counts.sum(), len(counts)
    resamples = np.empty((k, 1 + n_resamples))
    resamples[:, 0] = counts
    if n <= FEW_PER_RESPONSE * k:
        # a few trials of each response: to draw them one by one and count is the same, and faster
        kind = np.min_scalar_type(int(n))
        drawn = np.ascontiguousarray(rng.integers(n, size=(n_resamples, n), dtype=np.uint32).astype(kind).T)
        is_below, counted = np.empty(drawn.shape, bool), np.zeros(n_resamples, kind)
        for response, n_up_to in enumerate(counts.cumsum()[:-1].astype(kind)):
            before = counted
            counted = np.less(drawn, n_up_to, out=is_below).view(np.uint8).sum(axis=0, dtype=kind)
            resamples[response, 1:] = counted - before
        resamples[-1, 1:] = n - counted
    else:
        resamples[:, 1:] = rng.multinomial(n, counts / n, size=n_resamples).T
    return resamples.T


def weighted_median(values, counts):
    """Median of counted values, for many rows of counts at once; the mean of the middle two where they differ.

    Parameters
    ----------
    values : numpy.ndarray, shape (k,)
    counts : numpy.ndarray, shape (r, k)

    Returns
    -------
    numpy.ndarray, shape (r,)
    """
    order, total = np.argsort(values), counts.sum(axis=1)
    # the smallest numbers that hold twice the trials, since most of the time goes into moving them
    kind, place = np.min_scalar_type(int(2 * total.max())), np.min_scalar_type(len(values))
    total = total.astype(kind)
    cumulated = np.zeros(len(counts), kind)
    lower, upper = np.zeros(len(counts), place), np.zeros(len(counts), place)
    for response in order:
        cumulated += (2 * counts[:, response]).astype(kind)
        lower += cumulated < total
        upper += cumulated <= total
        if (cumulated > total).all():
            break
    return (values[order].take(lower) + values[order].take(upper)) / 2


class Resampled:
    """Distinct responses of a cell, shape (k,), with how often each was given in each resample, shape (r, k)."""

    def __init__(self, values, counts):
        self.values, self.counts, self.n_trials = values, counts, int(counts[0].sum())

    @cached_property
    def mean(self):
        """Mean response, shape (r,)."""
        return self.counts @ self.values / self.n_trials

    @cached_property
    def median(self):
        """Median response, shape (r,)."""
        return weighted_median(self.values, self.counts)

    def madb(self, baseline):
        """Mean distance of the responses from a baseline in percent of it, shape (r,).

        Parameters
        ----------
        baseline : numpy.ndarray, shape (r,) or (1,)
            Most responses are above or below all of them, so that their mean is all that has to be known.
        """
        side = np.where(self.values >= np.nanmax(baseline), 1.0, np.where(self.values <= np.nanmin(baseline), -1.0, 0))
        total = self.counts @ (side * self.values) - baseline * (self.counts @ side)
        for response in np.flatnonzero(side == 0):
            total += self.counts[:, response] * np.abs(self.values[response] - baseline)
        return 100 * total / self.n_trials / np.abs(baseline)

    def share_within(self, baseline, distance):
        """Share of the responses that lie within a distance from a baseline, in percent of it, shape (r,).

        Parameters
        ----------
        baseline : numpy.ndarray, shape (r,) or (1,)
            Most responses are within the distance from all of them, or from none.
        distance : float
        """
        least, most = np.nanmin(baseline), np.nanmax(baseline)
        ends = 100 * self.values / np.array([[least], [most]]) - 100
        is_within = (np.abs(ends) <= distance).all(axis=0)
        is_outside = (ends > distance).all(axis=0) | (ends < -distance).all(axis=0)
        is_settled = (is_within | is_outside) & (least * most > 0)
        total = self.counts @ (is_within & is_settled).astype(float)
        for response in np.flatnonzero(~is_settled):
            is_near = np.abs(100 * self.values[response] / baseline - 100) <= distance
            total += self.counts[:, response] * is_near
        return np.where(np.isnan(baseline), np.nan, total / self.n_trials)


def with_both(sides):
    """Return the cells of the directions that were asked, and with two of them that of their trials together."""
    if len(sides) < 2:
        return sides
    joined = (
        np.concatenate([getattr(side, name) for side in sides.values()], axis=-1) for name in ("values", "counts")
    )
    return sides | {"both": Resampled(*joined)}


@dataclass(frozen=True)
class Statistic:
    """One statistic by LLM, as observed and in every resample of its trials.

    `values` has shape (n LLMs, 1 + n_resamples), the observed value first; `weights`, which sum to 1, say how much each
    LLM counts in the statistic over LLMs, which is their weighted mean. An LLM without the statistic weighs 0.
    """

    values: np.ndarray
    weights: np.ndarray
    n_trials: np.ndarray

    @property
    def has_it(self):
        """Which LLMs have the statistic, shape (n LLMs,)."""
        return self.weights > 0

    def is_same(self, other):
        """Return whether another statistic is this one: of the same values, weighed alike."""
        return self.values is other.values and np.array_equal(self.weights, other.weights)

    def among(self, llms):
        """Return the statistic of some of the LLMs, given which, shape (n LLMs,)."""
        weights = np.where(llms, self.weights, 0)
        return Statistic(self.values, weights / weights.sum(), np.where(llms, self.n_trials, 0))

    def over_llms(self):
        """Return the statistic over the LLMs that were asked, shape (1 + n_resamples,): only trials are resampled."""
        return self.weights[self.has_it] @ self.values[self.has_it]

    def over_drawn_llms(self, picks, rows):
        """Return it over resampled LLMs, shape (1 + n_resamples,), the observed value first.

        Parameters
        ----------
        picks, rows : numpy.ndarray of int, shape (n_resamples, n LLMs)
            Which LLMs are drawn, and which resample of its trials stands for each.
        """
        picks, rows = picks.T, rows.T
        values = self.values.ravel().take(picks * self.values.shape[1] + rows)
        if np.ptp(self.weights) == 0:
            return np.concatenate([self.over_llms()[:1], values.mean(axis=0)])
        weights = self.weights.take(picks)
        if not self.has_it.all():
            values = np.where(weights > 0, values, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = (weights * values).sum(axis=0) / weights.sum(axis=0)
        return np.concatenate([self.over_llms()[:1], drawn])


class DomainDraws:
    """Everything that is resampled for one study and domain.

    Trials are drawn within LLM, vignette, technique and anchor direction (temperatures pooled), and the unanchored
    trials within LLM and vignette. All techniques share a resample of an LLM's baseline and a draw of LLMs.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors`, of one study, domain and response source.
    n_resamples, seed : int
        Each cell has its own stream, named after it: one more LLM or technique leaves the draws of the others alone.
    row_set, baseline_scope : str
        As in `analysis.counts.compared`.
    """

    def __init__(self, responses, *, n_resamples, seed, row_set="accepted", baseline_scope="pooled"):
        rows = selected(responses, row_set=row_set)
        self.n_resamples, self.seed = n_resamples, seed
        self._anchored = _cells(
            rows[rows["anchor_direction"].isin(["low", "high"])], ["llm", "vignette", "technique", "anchor_direction"]
        )
        self._unanchored = _cells(baseline_rows(rows, baseline_scope), ["llm", "vignette"])
        self.study, self.domain = (rows["study"].iloc[0], rows["domain"].iloc[0]) if len(rows) else ("", "")
        specification = {"row_set": row_set, "baseline_scope": baseline_scope}
        self.keys = {"study": self.study, "domain": self.domain, **specification}
        self.llms = sorted({llm for llm, *_ in self._anchored})
        self.vignettes = sorted({vignette for _, vignette, *_ in self._anchored})
        self.techniques = sorted({technique for *_, technique, _ in self._anchored})
        self._place = {llm: i for i, llm in enumerate(self.llms)}
        self._known, self._picks = {}, {}
        self._found = self._weighed = (None, None)  # the last, since the same is asked for with other weights

    def stream(self, *names):
        """Return the random numbers of what is named, the same whatever else there is."""
        return stream(self.seed, self.study, self.domain, *names)

    def picks(self, llms):
        """Draw LLMs with replacement, and for each a resample of its trials.

        Parameters
        ----------
        llms : numpy.ndarray of bool, shape (n LLMs,)
            Which are drawn from.

        Returns
        -------
        tuple of numpy.ndarray of int, shape (n_resamples, number of those LLMs)
            Their places among all LLMs, and the resample of each; the same for the same LLMs.
        """
        among = np.flatnonzero(llms)
        key = tuple(among)
        if key not in self._picks:
            rng, size = self.stream("llms", *(self.llms[place] for place in among)), (self.n_resamples, len(among))
            drawn = among[rng.integers(len(among), size=size)], rng.integers(1, 1 + self.n_resamples, size=size)
            self._picks[key] = tuple(map(np.asfortranarray, drawn))  # what is drawn first lies together
        return self._picks[key]

    @cached_property
    def baselines(self):
        """Baseline by LLM and vignette, each an array (1 + n_resamples,); none where nobody answered or all said 0."""
        baselines = {}
        for key, (values, counts) in self._unanchored.items():
            baseline = resampled_counts(counts, self.n_resamples, self.stream(*key)) @ values / counts.sum()
            if baseline[0] != 0:
                baselines[key] = np.where(baseline == 0, np.nan, baseline)
        return baselines

    def smallest_cell(self, llm, technique):
        """Return the number of trials in the smallest of the samples that an LLM's statistics are made of."""
        return min(self._smallest[key] for key in ((llm, None), (llm, technique)) if key in self._smallest)

    @cached_property
    def _smallest(self):
        """The fewest trials of a cell by LLM and technique (none: unanchored)."""
        cells = [(llm, None, counts) for (llm, _), (_, counts) in self._unanchored.items()]
        cells += [(llm, technique, counts) for (llm, _, technique, _), (_, counts) in self._anchored.items()]
        smallest = {}
        for llm, technique, counts in cells:
            n = int(counts.sum())
            smallest[llm, technique] = min(n, smallest.get((llm, technique), n))
        return smallest

    def fewest_baseline(self, technique, llms):
        """Return the fewest answers that a baseline rests on among LLMs and the vignettes of a technique."""
        return min((self._fewest.get((llm, technique), np.inf) for llm in llms), default=np.inf)

    @cached_property
    def _fewest(self):
        """The fewest answers of a baseline by LLM and technique."""
        fewest = {}
        for llm, vignette, technique, _ in self._anchored:
            if (llm, vignette) in self._unanchored:
                n = int(self._unanchored[llm, vignette][1].sum())
                fewest[llm, technique] = min(n, fewest.get((llm, technique), n))
        return fewest

    def percents(self, technique, anchor_direction, llm=None):
        """Return percent of baseline of every trial of a technique: values, counts, and how many LLMs they are of."""
        cells = [
            (100 * values / self.baselines[cell_llm, vignette][0], counts, cell_llm)
            for (cell_llm, vignette, of_technique, direction), (values, counts) in self._anchored.items()
            if of_technique == technique and anchor_direction in (direction, "both") and llm in (None, cell_llm)
            and (cell_llm, vignette) in self.baselines
        ]  # fmt: skip
        if not cells:
            return np.array([]), np.array([], dtype=np.int64), 0
        percents, counts, llms = zip(*cells, strict=True)
        return np.concatenate(percents), np.concatenate(counts), len(set(llms))

    def _cell_statistics(self, technique, baseline_is_known):
        """By direction, and by LLM and vignette: arrays (1 + n_resamples,) by metric, and the number of trials."""
        if technique not in self._known:
            cell_statistics = {is_known: {direction: {} for direction in DIRECTIONS} for is_known in (False, True)}
            for llm in self.llms:
                for vignette in self.vignettes:
                    sides = {}
                    for direction in ("low", "high"):
                        if cell := self._anchored.get((llm, vignette, technique, direction)):
                            rng = self.stream(llm, vignette, technique, direction)
                            sides[direction] = Resampled(cell[0], resampled_counts(cell[1], self.n_resamples, rng))
                    sides = with_both(sides)
                    baseline = self.baselines.get((llm, vignette))
                    fixed_baseline = None if baseline is None else baseline[:1]
                    for is_known, divisor in ((False, baseline), (True, fixed_baseline)):
                        for direction, statistics in _by_direction(sides, divisor).items():
                            cell_statistics[is_known][direction][llm, vignette] = statistics
            self._known[technique] = cell_statistics
        return self._known[technique][baseline_is_known]

    def statistic(self, technique, metric, anchor_direction="both", weighting="llm", *, baseline_is_known=False):
        """Return a metric of a technique by LLM, and how much each LLM counts.

        Vignettes weigh the same. Within one, LLMs weigh the same (`llm`) or by their trials (`trial`). An LLM's values
        are weighed as it enters the mean over LLMs; with `own`, they are the mean over its own vignettes.

        Parameters
        ----------
        technique : str
        metric : str
            One of `CELL_METRICS` or `SPREADS` (of LLMs with both anchors).
        anchor_direction : {'low', 'high', 'both'}
        weighting : {'llm', 'trial', 'own'}
        baseline_is_known : bool
            Whether the baseline is taken as observed, as papers do, or resampled with the rest.

        Returns
        -------
        Statistic

        Raises
        ------
        ValueError
            If a spread is to be weighed by trials: its two sides have weights of their own.
        """
        if metric in SPREADS and weighting == "trial":
            raise ValueError(f"the {metric} of an LLM is weighed by LLM, not by {weighting}")
        key = technique, metric, anchor_direction, baseline_is_known
        if self._found[0] != key:
            self._found, self._weighed = (key, self._cells_with(*key)), (None, None)
        return self._combined(self._found[1], weighting)

    def _cells_with(self, technique, metric, direction, baseline_is_known):
        """Vignette, place of the LLM, metric and number of trials of each cell that has the metric."""
        statistics = self._cell_statistics(technique, baseline_is_known)
        if metric in SPREADS:
            low, high = (_with_metric(statistics[side], SPREADS[metric]) for side in ("low", "high"))
            cells = {key: (high[key][0] - low[key][0], high[key][1] + low[key][1]) for key in high.keys() & low.keys()}
        else:
            cells = _with_metric(statistics[direction], metric)
        return [(vignette, self._place[llm], *cell) for (llm, vignette), cell in sorted(cells.items())]

    def _combined(self, cells, weighting):
        n_of = Counter()
        for vignette, _, _, n in cells:
            n_of[vignette] += n if weighting == "trial" else 1
        weights, n_trials = np.zeros(len(self.llms)), np.zeros(len(self.llms), dtype=np.int64)
        by_place = {}
        for vignette, place, value, n in cells:
            weight = (n if weighting == "trial" else 1) / n_of[vignette] / len(n_of)
            by_place.setdefault(place, []).append((1 / len(cells) if weighting == "own" else weight, value))
            n_trials[place] += n
        for place, weighed in by_place.items():
            weights[place] = sum(weight for weight, _ in weighed)
        return Statistic(self._means(by_place, weights), weights, n_trials)

    def _means(self, by_place, weights):
        """The weighted mean of each LLM, shape (n LLMs, 1 + n_resamples): the last ones again if they are the same."""
        shares = {place: [weight / weights[place] for weight, _ in of_llm] for place, of_llm in by_place.items()}
        if self._weighed[0] != shares:
            values = np.full((len(self.llms), 1 + self.n_resamples), np.nan)
            for place, of_llm in by_place.items():
                of_vignettes = [value for _, value in of_llm]
                values[place] = of_vignettes[0] if len(of_llm) == 1 else np.dot(shares[place], of_vignettes)
            self._weighed = shares, values
        return self._weighed[1]


def _cells(rows, keys):
    """Each cell's distinct responses, ascending, and how many trials gave each."""
    counted = rows.groupby([*keys, "response"], observed=True, sort=True)["n_trials"].sum().reset_index()
    named = list(zip(*(counted[key] for key in keys), strict=True))
    starts = [place for place, name in enumerate(named) if place == 0 or name != named[place - 1]]
    responses, n_trials = counted["response"].to_numpy(float), counted["n_trials"].to_numpy(np.int64)
    return {named[start]: (responses[start:end], n_trials[start:end]) for start, end in pairwise([*starts, len(named)])}


def _with_metric(cells, metric):
    """The metric and the number of trials of the cells that have it."""
    return {key: (statistics[metric], n) for key, (statistics, n) in cells.items() if metric in statistics}


def _by_direction(sides, baseline):
    """Metrics and number of trials of each direction that was asked, and of both."""
    metrics = {side: (_statistics(cell, baseline), cell.n_trials) for side, cell in sides.items() if side != "both"}
    if "both" in sides:
        metrics["both"] = (_of_both(metrics["low"], metrics["high"], sides["both"], baseline), sides["both"].n_trials)
    elif metrics:
        metrics["both"] = next(iter(metrics.values()))
    return metrics


def _statistics(cell, baseline):
    """Every metric of a cell in each of its resamples, which have as many baselines or one."""
    if baseline is None:
        return {"mean_response": cell.mean}
    return {
        "mean_response": cell.mean,
        "percent_of_baseline": 100 * cell.mean / baseline,
        "deviation": cell.mean - baseline,
        "madb_percent": cell.madb(baseline),
        "median_percent_of_baseline": 100 * cell.median / baseline,
        "share_within_10_percent": cell.share_within(baseline, WITHIN),
    }


def _of_both(low, high, both, baseline):
    """Every metric of both directions together, as they were asked: means of means, but not of medians."""
    (of_low, n_low), (of_high, n_high) = low, high
    metrics = {metric: (n_low * of_low[metric] + n_high * of_high[metric]) / both.n_trials for metric in of_low}
    return metrics if baseline is None else metrics | {"median_percent_of_baseline": 100 * both.median / baseline}
