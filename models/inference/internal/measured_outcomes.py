"""One row per row of outcome_contrasts, _decisions, _predictions and _sensitivity (`part`), which are views of it."""


def model(dbt, session):
    """Read the counts of items, and return the table."""
    from analysis.outcome_sensitivity import COLUMNS, outcome_sensitivity_rows
    from analysis.outcomes import OUTCOMES, outcome_rows
    from analysis.tables import table

    counts = dbt.ref("item_counts").df()
    declared = ["study", "paradigm", "measure", "margin", "pairing", "is_share", "better", "reference", "answer_kind"]
    declared += ["measured_from"]
    paradigms = dbt.ref("stg_paradigms").df()[declared]
    contrasts = dbt.ref("stg_paradigm_contrasts").df()[["study", "paradigm", "arm", "arm_b"]]
    techniques = dbt.ref("int_techniques_defined").df()
    controls = dbt.ref("controls").df()
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
    given = counts, paradigms, contrasts, ranked, controls
    rows = [*outcome_rows(*given, n_draws=int(resamples), seed=int(seed)), *outcome_sensitivity_rows(*given)]
    return table(rows, OUTCOMES | COLUMNS)
