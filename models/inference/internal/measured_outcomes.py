"""One row per row of outcome_contrasts, _decisions, _predictions and _sensitivity (`part`), which are views of it."""


def model(dbt, session):
    """Read the counts of items, estimate for the studies that changed, and return the table."""
    from analysis.kept import kept_by_study
    from analysis.multiverse import OUTCOME_COLUMNS, outcome_sensitivity_rows
    from analysis.outcomes import OUTCOMES, by_measure, outcome_rows

    def rows_of(counts, paradigms, contrasts, techniques, controls, **options):
        ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
        given = list(by_measure(counts, paradigms, contrasts)), ranked, controls
        return [*outcome_rows(*given, **options), *outcome_sensitivity_rows(*given)]

    declared = "study, paradigm, measure, margin, pairing, is_share, better, reference, answer_kind, measured_from"
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    return kept_by_study(
        session,
        dbt.this,
        rows_of,
        OUTCOMES | OUTCOME_COLUMNS,
        by_study={
            "counts": dbt.ref("item_counts"),
            "paradigms": dbt.ref("stg_paradigms").project(declared),
            "contrasts": dbt.ref("stg_paradigm_contrasts").project("study, paradigm, arm, arm_b"),
        },
        shared={"techniques": dbt.ref("int_techniques_defined"), "controls": dbt.ref("controls")},
        settings={"n_draws": int(resamples), "seed": int(seed)},
    )
