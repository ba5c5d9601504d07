"""One row per row of soft_expectations, anchor_effects, sensitivity_scores and anchor_sensitivities (`part`)."""


def model(dbt, session):
    """Read the scores that are published, and return the table."""
    from analysis.anchor_effects import MEASURED, measured_rows
    from analysis.tables import table

    return table(measured_rows(dbt.ref("int_scores_accepted").df()), MEASURED)
