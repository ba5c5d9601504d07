"""One row per row of decisions, predictions and multiverse (`part`): each question of each study is answered once."""


def model(dbt, session):
    """Read the counts, answer for the studies that changed, and return the table."""
    from analysis.engine.answers import ANSWERS, answer_rows
    from analysis.engine.grid import DECLARED, PAIRS
    from analysis.engine.questions import questions
    from analysis.kept import kept_by_study

    def rows_of(techniques, controls, n_draws, seed, **asked):
        ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
        return answer_rows(questions(**asked), ranked, controls, n_draws=n_draws, seed=seed)

    response_source = dbt.config.meta_get("response_source")
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    return kept_by_study(
        session,
        dbt.this,
        rows_of,
        ANSWERS,
        by_study={
            "counts": dbt.ref("counts"),
            "paradigms": dbt.ref("stg_paradigms").project(DECLARED),
            "contrasts": dbt.ref("stg_paradigm_contrasts").project(PAIRS),
        },
        shared={"techniques": dbt.ref("int_techniques_defined"), "controls": dbt.ref("controls")},
        settings={
            "response_source": response_source,
            "margin": float(margin_pp),
            "n_draws": int(resamples),
            "seed": int(seed),
        },
    )
