"""One row per study, domain, technique, goal and ordered pair of LLMs: is one more anchored than the other."""


def model(dbt, session):
    """Read the counts and return the table."""
    from analysis.llm_contrasts import COLUMNS, llm_contrasts
    from analysis.tables import table

    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    response_source = dbt.config.meta_get("response_source")
    responses = responses[responses["response_source"] == response_source]
    return table(llm_contrasts(responses, set(techniques.loc[techniques["is_ranked"], "technique"])), COLUMNS)
