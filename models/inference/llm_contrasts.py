"""One row per study, domain, technique, goal and ordered pair of LLMs: is one more anchored than the other."""


def model(dbt, session):
    """Read the counts, compare in the studies that changed, and return the table."""
    from analysis.kept import kept_by_study
    from analysis.llm_contrasts import COLUMNS, llm_contrasts

    def rows_of(responses, techniques):
        return llm_contrasts(responses, set(techniques.loc[techniques["is_ranked"], "technique"]))

    response_source = dbt.config.meta_get("response_source")
    return kept_by_study(
        session,
        dbt.this,
        rows_of,
        COLUMNS,
        by_study={"responses": dbt.ref("response_counts").filter(f"response_source = '{response_source}'")},
        shared={"techniques": dbt.ref("int_techniques_defined")},
    )
