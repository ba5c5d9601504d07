"""One row per study, question, llm, vignette and technique: how large the loss is."""


def model(dbt, session):
    """Read the counts, take the losses of the studies that changed, and return the table."""
    from analysis.engine.effects import LOSSES, loss_rows
    from analysis.engine.grid import declared_counts
    from analysis.engine.questions import questions
    from analysis.kept import kept_by_study

    def rows_of(**asked):
        return loss_rows(questions(**asked))

    by_study = declared_counts(
        dbt.ref("counts"),
        dbt.ref("stg_paradigms"),
        dbt.ref("stg_paradigm_contrasts"),
        dbt.ref("int_vendors"),
        dbt.ref("int_baseline_prompts"),
        dbt.ref("int_framings_judged"),
        dbt.ref("int_texts_judged"),
    )
    settings = {
        "margin": float(dbt.config.meta_get("equivalence_margin_pp")),
        "response_source": dbt.config.meta_get("response_source"),
    }
    return kept_by_study(session, dbt.this, rows_of, LOSSES, by_study, settings=settings)
