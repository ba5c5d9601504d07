def model(dbt, session):
    """One row per study, domain, technique, goal, control and specification that comes to numbers of its own."""
    from analysis.sensitivity import COLUMNS, sensitivity_rows
    from analysis.tables import table

    dbt.config(materialized="table")
    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    controls = dbt.ref("controls").df()
    missing = dbt.ref("int_answers_missing").df()
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    response_source = dbt.config.meta_get("response_source")
    rows = sensitivity_rows(
        responses,
        set(techniques.loc[techniques["is_ranked"], "technique"]),
        controls,
        missing,
        margin_pp=float(margin_pp),
        response_source=response_source,
    )
    return table(rows, COLUMNS)
