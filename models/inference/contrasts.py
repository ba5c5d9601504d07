"""One row per study, domain, family, pair, metric, anchor direction, level, specification and response source."""


def model(dbt, session):
    """Read the counts, compare in the studies that changed, and return the table."""
    from analysis.counts import responses_to_anchors
    from analysis.kept import kept_by_study
    from analysis.methods.contrasts import COLUMNS, contrasts_of_readings

    by_study = {"responses": responses_to_anchors(dbt.ref("counts")), "texts": dbt.ref("int_texts_kept")}
    shared = {"techniques": dbt.ref("int_techniques_defined")}
    settings = {"response_source": dbt.config.meta_get("response_source"), "seed": int(dbt.config.meta_get("seed"))}
    return kept_by_study(session, dbt.this, contrasts_of_readings, COLUMNS, by_study, shared, settings)
