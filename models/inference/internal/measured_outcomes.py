"""One row per row of outcome_contrasts, outcome_decisions and outcome_predictions (`part`), which are views of it."""


def model(dbt, session):
    """Read the counts of items, and return the table."""
    from analysis.outcomes import OUTCOMES, outcome_rows
    from analysis.tables import table

    counts = dbt.ref("item_counts").df()
    paradigms = dbt.ref("stg_paradigms").df()
    contrasts = dbt.ref("stg_paradigm_contrasts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    controls = dbt.ref("controls").df()
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    rows = outcome_rows(
        counts,
        paradigms[
            ["study", "paradigm", "measure", "margin", "pairing", "is_share", "better", "reference", "answer_kind"]
        ],
        contrasts[["study", "paradigm", "arm", "arm_b"]],
        set(techniques.loc[techniques["is_ranked"], "technique"]),
        controls,
        n_draws=int(resamples),
        seed=int(seed),
    )
    return table(rows, OUTCOMES)
