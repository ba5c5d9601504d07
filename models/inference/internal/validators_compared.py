"""One row per row of validator_agreement, which is a view of it."""


def model(dbt, session):
    """Read what people said of falsified texts, and return the table."""
    from analysis.methods.validators import COLUMNS, validator_rows
    from analysis.tables import table

    return table(validator_rows(dbt.ref("stg_falsification_verdicts").df()), COLUMNS)
