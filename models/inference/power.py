"""One row per study, question, pair of techniques, design, level, quantity solved for, target and specification."""


def model(dbt, session):
    """Read the counts and the costs, compute the studies that changed, and return the table."""
    from analysis.counts import responses_to_anchors
    from analysis.engine.grid import declared_counts
    from analysis.engine.questions import questions
    from analysis.engine.settling import to_settle_rows
    from analysis.kept import kept_by_study
    from analysis.methods.power import COLUMNS, power

    def rows_of(responses, techniques, costs, prices, controls, claims, **asked):
        published = {
            (row.study, row.domain, frozenset((row.technique, row.technique_b))): row.published_value
            for row in claims.itertuples()
        }
        observed = power(responses, techniques, costs, margin_pp=asked["margin"], published=published)
        ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
        return [*observed, *to_settle_rows(questions(**asked), ranked, controls, costs, prices)]

    response_source = dbt.config.meta_get("response_source")
    printed = "quantity = 'percent_of_baseline_cohens_d' and comparison = '='"
    by_study = {
        "responses": responses_to_anchors(dbt.ref("counts"), f"response_source = '{response_source}'"),
        **declared_counts(
            dbt.ref("counts"),
            dbt.ref("stg_paradigms"),
            dbt.ref("stg_paradigm_contrasts"),
            dbt.ref("int_vendors"),
            dbt.ref("int_baseline_prompts"),
            dbt.ref("int_framings_judged"),
            dbt.ref("int_texts_judged"),
        ),
    }
    shared = {
        "techniques": dbt.ref("int_techniques_defined"),
        # of a technique without costs in its study, those of other studies count
        "costs": dbt.ref("technique_costs"),
        "prices": dbt.ref("prices"),
        "controls": dbt.ref("controls"),
        "claims": dbt.ref("published_claims").filter(printed),
    }
    settings = {"margin": float(dbt.config.meta_get("equivalence_margin_pp")), "response_source": response_source}
    return kept_by_study(session, dbt.this, rows_of, COLUMNS, by_study, shared, settings)
