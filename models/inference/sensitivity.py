def model(dbt, session):
    """One row per study, domain, headline and specification."""
    from analysis.sensitivity import sensitivity

    dbt.config(materialized="table")
    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    response_source = dbt.config.meta_get("response_source")
    return sensitivity(
        responses,
        set(techniques.loc[techniques["is_ranked"], "technique"]),
        margin_pp=float(margin_pp),
        response_source=response_source,
    )
