def model(dbt, session):
    """One row per study, domain, llm (null = all), technique, metric and weighting."""
    from analysis.ranks import rank_probabilities

    dbt.config(materialized="table")
    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("techniques").df()
    response_source = dbt.config.meta_get("response_source")
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    return rank_probabilities(
        responses[responses["response_source"] == response_source],
        set(techniques.loc[techniques["is_ranked"], "technique"]),
        n_resamples=int(resamples),
        seed=int(seed),
        margin_pp=float(margin_pp),
    )
