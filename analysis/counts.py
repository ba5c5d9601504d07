"""Counts of distinct responses: what every statistic here is computed from, however many trials they stand for."""

from dataclasses import dataclass
from zlib import crc32

import numpy as np

ANCHORING = "anchoring"  # the paradigm
CONTROL = "no_technique"
QUESTION = "study paradigm domain goal measure instrument arm arm_b"  # columns that tell a question
ANSWERED = "paradigm = 'anchoring' and n_trials > 0"  # rows of `marts.counts`, and what answers to anchors are called
# an item of anchoring is a case, with a baseline of its own: to these methods a vignette of that name
RESPONSES = """study, llm, domain, concat_ws('/', vignette, item) as vignette, technique, arm as anchor_direction,
    anchor_value, temperature, row_set, response_source, value as response, n_trials"""
SMALLEST_SPREAD_PP = 1  # below it there is no spread to change
CELL = ["study", "domain", "vignette", "llm", "technique", "anchor_direction", "temperature"]


def study_without_version(study):
    """Name the study that `voder-bais@8749ccc` is a version of: what is random or printed is the same in both.

    Parameters
    ----------
    study : str

    Returns
    -------
    str
    """
    return study.partition("@")[0]


def stream(seed, study, *names):
    """Return the random numbers of what is named, the same whatever else there is.

    Parameters
    ----------
    seed : int
    study : str
        All versions of it draw alike.
    *names : str

    Returns
    -------
    numpy.random.Generator
    """
    place = (study_without_version(study), *names)
    return np.random.default_rng([seed, crc32("\0".join(place).encode())])


@dataclass(frozen=True)
class Summary:
    """Number of trials, mean and variance (ddof 1; NaN below two trials) of counted values."""

    n_trials: int
    mean: float
    variance: float

    @classmethod
    def of(cls, values, counts):
        """Summarise values that occur `counts` times.

        Parameters
        ----------
        values, counts : array_like, shape (k,)
            Distinct values, in any order and not necessarily merged, and how many trials gave each.

        Returns
        -------
        Summary
            In the unit of `values`. The variance of equal values is exactly 0.

        Raises
        ------
        ValueError
            If nothing is counted, a count is negative, or a value is not finite.
        """
        values, counts = np.asarray(values, float), np.asarray(counts, float)
        if values.shape != counts.shape or (counts < 0).any() or not counts.sum() > 0:
            raise ValueError(f"need one count, not negative, for each value, got {values.shape} and {counts.shape}")
        values, counts = values[counts > 0], counts[counts > 0]
        if not np.isfinite(values).all():
            raise ValueError("need finite values")
        n = counts.sum()
        mean = values[0] + np.dot(counts, values - values[0]) / n
        squares = 0.0 if values.min() == values.max() else np.dot(counts, (values - mean) ** 2)
        return cls(int(n), float(mean), float(squares / (n - 1)) if n > 1 else float("nan"))


def responses_to_anchors(counts, condition="true"):
    """Return the answers to anchors, as the methods of document A take them.

    Parameters
    ----------
    counts : duckdb.DuckDBPyRelation
        `marts.counts`.
    condition : str
        In SQL, of rows of `marts.counts`.

    Returns
    -------
    duckdb.DuckDBPyRelation
        Columns `RESPONSES`, with a row for each distinct answer.
    """
    return counts.filter(f"{ANSWERED} and {condition}").project(RESPONSES)


def compared(responses, *, row_set="accepted", baseline_scope="pooled"):
    """Anchored responses beside the baseline of their LLM and vignette, as percent of it.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `responses_to_anchors`.
    row_set : str
        Which of its rows enter.
    baseline_scope : {'pooled', 't=0', 't=0.7', 't=1', ...}
        Which unanchored trials without a technique make the baseline: of all temperatures, or of one.

    Returns
    -------
    pandas.DataFrame
        `study, domain, vignette, llm, technique, anchor_direction, temperature, response, n_trials, baseline,
        percent_of_baseline`, in that order of rows; the last two are NaN where there is no baseline or it is 0.
        Rows that differ in nothing else are merged.
    """
    rows = selected(responses, row_set=row_set)
    anchored = _merged(rows[rows["anchor_direction"].isin(["low", "high"])], [*CELL, "response"])
    unanchored = baseline_rows(rows, baseline_scope)
    unanchored = unanchored.assign(total=unanchored["response"] * unanchored["n_trials"])
    keys = ["study", "vignette", "llm"]
    sums = unanchored.groupby(keys)[["total", "n_trials"]].sum()
    baselines = (sums["total"] / sums["n_trials"]).where(sums["total"] != 0).rename("baseline").reset_index()
    joined = anchored.merge(baselines, on=keys, how="left")
    return joined.assign(percent_of_baseline=100 * joined["response"] / joined["baseline"])


def selected(responses, *, row_set="accepted"):
    """Return the rows of one row set, with temperatures as numbers (NaN where none was set).

    Raises
    ------
    ValueError
        If there are several response sources: the same trials would count twice.
    """
    rows = responses[responses["row_set"] == row_set]
    if rows["response_source"].nunique() > 1:
        raise ValueError(f"name one response source, there are {sorted(rows['response_source'].unique())}")
    return rows.assign(temperature=rows["temperature"].astype(float), n_trials=rows["n_trials"].astype("int64"))


def baseline_rows(rows, baseline_scope="pooled"):
    """Return the unanchored rows without a technique that a baseline of this scope is the mean of."""
    unanchored = rows[(rows["technique"] == CONTROL) & (rows["anchor_direction"] == "none")]
    if baseline_scope != "pooled":
        unanchored = unanchored[unanchored["temperature"] == float(baseline_scope.removeprefix("t="))]
    return _merged(unanchored, [*CELL, "response"])


def _merged(rows, keys):
    return rows.groupby(keys, dropna=False, as_index=False, sort=True, observed=True)["n_trials"].sum()
