"""One row: the fewest LLMs over which anything is inferred, as the statistics have it."""


def model(dbt, session):
    """Return the constant."""
    from analysis.methods.small_samples import FEWEST_LLMS
    from analysis.tables import table

    return table([{"n_llms": FEWEST_LLMS}], {"n_llms": "bigint"})
