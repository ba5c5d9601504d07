"""One row per study of people that prints means, t and df, and measure: the effect that follows from these."""


def model(dbt, session):
    """Read the studies and return the table."""
    from analysis.papers.people import HUMAN_EFFECTS, human_effects
    from analysis.tables import table

    return table(human_effects(dbt.ref("human_baselines").df()), HUMAN_EFFECTS)
