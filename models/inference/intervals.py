"""One row per study, domain, technique, direction, llm (null = all), metric, weighting, specification and method."""


def model(dbt, session):
    """Read the counts, draw, and return the table."""
    from analysis.intervals import COLUMNS, intervals
    from analysis.tables import table

    responses = dbt.ref("response_counts").df()
    claims = dbt.ref("published_claims").df()
    response_source = dbt.config.meta_get("response_source")
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    responses = responses[responses["response_source"] == response_source]
    rows = intervals(responses, n_resamples=int(resamples), seed=int(seed), published=set(claims["study"]))
    return table(rows, COLUMNS)
