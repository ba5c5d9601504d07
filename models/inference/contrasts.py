"""One row per study, domain, family, pair of techniques, metric, anchor direction, level and specification."""


def model(dbt, session):
    """Read the counts and return the table."""
    from analysis.contrasts import COLUMNS, contrasts
    from analysis.tables import table

    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    response_source = dbt.config.meta_get("response_source")
    seed = dbt.config.meta_get("seed")
    responses = responses[responses["response_source"] == response_source]
    return table(contrasts(responses, techniques, seed=int(seed)), COLUMNS)
