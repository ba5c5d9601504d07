"""One row per row of mixed_effects, variance_components, random_effects and model_tests (`part`), fitted once."""


def model(dbt, session):
    """Read the counts and return the table."""
    from analysis.anova import anova_rows
    from analysis.mixed_effects import MIXED_MODELS, mixed_model_rows
    from analysis.tables import table

    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    response_source = dbt.config.meta_get("response_source")
    responses = responses[responses["response_source"] == response_source]
    ranked = techniques.loc[techniques["is_ranked"], "technique"]
    anovas = ({"part": "model_tests", **row} for row in anova_rows(responses, ranked))
    return table([*mixed_model_rows(responses, ranked), *anovas], MIXED_MODELS)
