"""Intervals and ranks from one pass over the resamples."""

from analysis import intervals, ranks

RESAMPLED = {"part": "varchar", **intervals.COLUMNS, **ranks.COLUMNS}


def resampled_rows(responses, ranked, *, n_resamples, seed, margin_pp, published=(), confidence=0.95):
    """Draw each study and domain once and say all that the draws say.

    Parameters
    ----------
    responses, ranked, n_resamples, seed, margin_pp, published, confidence
        As in `analysis.intervals.intervals` and `analysis.ranks.rank_probabilities`.

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
        if draws.study in published:
            parts["intervals"] += intervals.published_rows(of_domain, confidence=confidence)
        for part, rows in parts.items():
            yield from ({"part": part, **row} for row in rows)
