"""One row per study, domain, pair of techniques (or technique beside zero), metric, level, method and specification."""


def model(dbt, session):
    """Read the counts and return the table."""
    from analysis.equivalence import COLUMNS, equivalence_tests
    from analysis.tables import table

    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    response_source = dbt.config.meta_get("response_source")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    responses = responses[responses["response_source"] == response_source]
    return table(equivalence_tests(responses, techniques, margin_pp=float(margin_pp)), COLUMNS)
