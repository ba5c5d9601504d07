"""One row per row of judge_agreement, which is a view of it."""


def model(dbt, session):
    """Read the judgements that count, and return the table."""
    from analysis.methods.judges import COLUMNS, judge_rows
    from analysis.tables import table

    return table(judge_rows(dbt.ref("int_judgements_read").df()), COLUMNS)
