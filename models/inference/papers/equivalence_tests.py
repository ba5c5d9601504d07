"""One row per study, domain, pair of techniques (or technique beside zero), metric, level, method and specification."""


def model(dbt, session):
    """Read the counts, test in the studies that changed, and return the table."""
    from analysis.counts import responses_to_anchors
    from analysis.kept import kept_by_study
    from analysis.methods.equivalence import COLUMNS, equivalence_tests

    response_source = dbt.config.meta_get("response_source")
    by_study = {"responses": responses_to_anchors(dbt.ref("counts"), f"response_source = '{response_source}'")}
    shared = {"techniques": dbt.ref("int_techniques_defined")}
    settings = {"margin_pp": float(dbt.config.meta_get("equivalence_margin_pp"))}
    return kept_by_study(session, dbt.this, equivalence_tests, COLUMNS, by_study, shared, settings)
