"""One row per row of decisions, predictions and multiverse (`part`): each question of each study is answered once."""


def model(dbt, session):
    """Read the counts, answer for the studies that changed, and return the table."""
    from analysis.engine.answers import ANSWERS, answer_rows
    from analysis.engine.families import of_studies
    from analysis.engine.grid import declared_counts
    from analysis.engine.questions import questions
    from analysis.kept import kept_by_study

    def rows_of(techniques, controls, families, n_draws, seed, **asked):
        ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
        return answer_rows(questions(**asked), ranked, controls, families, n_draws=n_draws, seed=seed)

    by_study = declared_counts(
        dbt.ref("counts"),
        dbt.ref("stg_paradigms"),
        dbt.ref("stg_paradigm_contrasts"),
        dbt.ref("int_vendors"),
        dbt.ref("int_baseline_prompts"),
        dbt.ref("int_framings_judged"),
        dbt.ref("int_texts_judged"),
    )
    by_study["families"] = of_studies(dbt.ref("int_families"), dbt.ref("counts"))
    shared = {"techniques": dbt.ref("int_techniques_defined"), "controls": dbt.ref("controls")}
    settings = {
        "response_source": dbt.config.meta_get("response_source"),
        "margin": float(dbt.config.meta_get("equivalence_margin_pp")),
        "n_draws": int(dbt.config.meta_get("resamples")),
        "seed": int(dbt.config.meta_get("seed")),
    }
    return kept_by_study(session, dbt.this, rows_of, ANSWERS, by_study, shared, settings)
