def model(dbt, session):
    """One row per study, domain, technique, anchor direction, llm (null = all), metric, weighting, row set, baseline
    scope and method."""
    from analysis.intervals import intervals

    dbt.config(materialized="table")
    claims = dbt.ref("published_claims").df()
    responses = dbt.ref("response_counts").df()
    response_source = dbt.config.meta_get("response_source")
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    return intervals(
        responses[responses["response_source"] == response_source],
        n_resamples=int(resamples),
        seed=int(seed),
        published=set(claims["study"]),
    )
