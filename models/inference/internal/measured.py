"""One row per row of the tables of scores, which are views of it (`part`)."""


def model(dbt, session):
    """Read the scores that are published, and return the table."""
    from analysis.anchor_effects import MEASURED, measured_rows
    from analysis.tables import table

    sizes = dbt.ref("llm_parameters").df()
    parameters = dict(zip(sizes["llm"], sizes["parameters"], strict=True))
    return table(measured_rows(dbt.ref("int_scores_accepted").df(), parameters), MEASURED)
