"""One row per study, question, technique and ordered pair of LLMs: is one more biased than the other."""


def model(dbt, session):
    """Read the counts, compare in the studies that changed, and return the table."""
    from analysis.engine.grid import declared_counts
    from analysis.engine.llm_contrasts import COLUMNS, llm_contrasts
    from analysis.engine.questions import questions
    from analysis.kept import kept_by_study

    def rows_of(techniques, **asked):
        ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
        return llm_contrasts(questions(**asked), ranked)

    by_study = declared_counts(
        dbt.ref("counts"),
        dbt.ref("stg_paradigms"),
        dbt.ref("stg_paradigm_contrasts"),
        dbt.ref("int_vendors"),
        dbt.ref("int_baseline_prompts"),
        dbt.ref("int_framings_judged"),
        dbt.ref("int_texts_judged"),
    )
    shared = {"techniques": dbt.ref("int_techniques_defined")}
    settings = {
        "margin": float(dbt.config.meta_get("equivalence_margin_pp")),
        "response_source": dbt.config.meta_get("response_source"),
    }
    return kept_by_study(session, dbt.this, rows_of, COLUMNS, by_study, shared, settings)
