"""Intervals and ranks from one pass over the resamples."""

from analysis import intervals, ranks
from analysis.counts import study_without_version

RESAMPLED = {"part": "varchar", **intervals.COLUMNS, **ranks.COLUMNS}


def resampled_rows(responses, ranked, *, n_resamples, seed, margin_pp, published=(), confidence=0.95):
    """Draw each study and domain once and say all that the draws say.

    Parameters
    ----------
    responses : pandas.DataFrame
        Rows of `marts.response_counts`, of one response source.
    ranked : collection of str
        Techniques that are ranked.
    n_resamples, seed : int
    margin_pp : float
        The largest difference of losses that still counts as none.
    published : collection of str
        Studies whose intervals were published: they have percent of baseline also as document A did it
        (`trial_unstratified`, row set `as_recorded`).
    confidence : float in (0, 1)

    Yields
    ------
    dict
        Rows of both tables, with the table's name as `part`.
    """
    for of_domain, draws in intervals.recommended_draws(responses, n_resamples=n_resamples, seed=seed):
        parts = {
            "intervals": [*intervals.interval_rows(draws, confidence=confidence)],
            "rank_probabilities": ranks.rank_rows(draws, ranked, margin_pp=margin_pp),
        }
        if study_without_version(draws.study) in published:
            parts["intervals"] += intervals.published_rows(of_domain, confidence=confidence)
        for part, rows in parts.items():
            yield from ({"part": part, **row} for row in rows)
