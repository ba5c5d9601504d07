def model(dbt, session):
    """One row per study, domain, technique, goal, control and specification that comes to numbers of its own."""
    from analysis.kept import kept_by_study
    from analysis.multiverse import COLUMNS, sensitivity_rows

    def rows_of(responses, missing, techniques, controls, **options):
        ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
        return sensitivity_rows(responses, ranked, controls, missing, **options)

    dbt.config(materialized="table")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    response_source = dbt.config.meta_get("response_source")
    return kept_by_study(
        session,
        dbt.this,
        rows_of,
        COLUMNS,
        by_study={"responses": dbt.ref("response_counts"), "missing": dbt.ref("int_answers_missing")},
        shared={"techniques": dbt.ref("int_techniques_defined"), "controls": dbt.ref("controls")},
        settings={"margin_pp": float(margin_pp), "response_source": response_source},
    )
