"""One row per study, domain, technique, direction, llm (null = all), metric, weighting, specification and method."""


def model(dbt, session):
    """Read the counts, draw for the studies that changed, and return the table."""
    from analysis.counts import responses_to_anchors
    from analysis.kept import kept_by_study
    from analysis.methods.intervals import COLUMNS, intervals

    def rows_of(responses, claims, **options):
        return intervals(responses, published=set(claims["study"]), **options)

    response_source = dbt.config.meta_get("response_source")
    by_study = {"responses": responses_to_anchors(dbt.ref("counts"), f"response_source = '{response_source}'")}
    shared = {"claims": dbt.ref("published_claims").project("study").distinct()}
    settings = {"n_resamples": int(dbt.config.meta_get("resamples")), "seed": int(dbt.config.meta_get("seed"))}
    return kept_by_study(session, dbt.this, rows_of, COLUMNS, by_study, shared, settings)
