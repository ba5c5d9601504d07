"""One row per study, measure, technique, contrast, llm (null = all), row set, weighting and level: a bias's size."""


def model(dbt, session):
    """Read the counts of items, estimate for the studies that changed, and return the table."""
    from analysis.engine.contrasts import COLUMNS, contrast_rows
    from analysis.engine.grid import declared_counts
    from analysis.kept import kept_by_study

    by_study = declared_counts(dbt.ref("counts"), dbt.ref("stg_paradigms"), dbt.ref("stg_paradigm_contrasts"))
    return kept_by_study(session, dbt.this, contrast_rows, COLUMNS, by_study)
