"""One row per study, domain, family, pair, metric, anchor direction, level, specification and response source."""


def model(dbt, session):
    """Read the counts and return the table."""
    from analysis.contrasts import COLUMNS, contrasts_of_readings
    from analysis.tables import table

    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    texts = dbt.ref("int_texts_kept").df()
    response_source = dbt.config.meta_get("response_source")
    seed = dbt.config.meta_get("seed")
    rows = contrasts_of_readings(responses, techniques, texts, response_source=response_source, seed=int(seed))
    return table(rows, COLUMNS)
