def model(dbt, session):
    """One row per study of people, product (null = all), outcome and method: what a summary does."""
    from analysis.papers.human_choices import COLUMNS, human_choice_effects
    from analysis.tables import table

    dbt.config(materialized="table")
    choices = dbt.ref("human_choices").df()
    return table(human_choice_effects(choices), COLUMNS)
