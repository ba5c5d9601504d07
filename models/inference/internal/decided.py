"""One row per row of rank_probabilities and predictions (`part`): each study and domain is decided on once."""


def model(dbt, session):
    """Read the counts under both readings of the texts, decide for the studies that changed, and return the table."""
    from analysis.decisions import DECIDED, decision_rows
    from analysis.kept import kept_by_study

    def rows_of(responses, missing, techniques, controls, response_source, **options):
        is_read_so = responses["response_source"] == response_source
        ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
        return decision_rows(responses[is_read_so], responses[~is_read_so], ranked, controls, missing, **options)

    response_source = dbt.config.meta_get("response_source")
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    return kept_by_study(
        session,
        dbt.this,
        rows_of,
        DECIDED,
        by_study={"responses": dbt.ref("response_counts"), "missing": dbt.ref("int_answers_missing")},
        shared={"techniques": dbt.ref("int_techniques_defined"), "controls": dbt.ref("controls")},
        settings={
            "response_source": response_source,
            "margin_pp": float(margin_pp),
            "n_draws": int(resamples),
            "seed": int(seed),
        },
    )
