"""One row per row of mixed_effects, variance_components, random_effects and model_tests (`part`), fitted once."""


def model(dbt, session):
    """Read the counts, fit the studies that changed, and return the table."""
    from analysis.counts import responses_to_anchors
    from analysis.kept import kept_by_study
    from analysis.methods.anova import anova_rows
    from analysis.methods.mixed_effects import MIXED_MODELS, mixed_model_rows, samples

    def rows_of(responses, techniques):
        ranked = techniques.loc[techniques["is_ranked"], "technique"]
        of_samples = samples(responses, ranked)
        anovas = ({"part": "model_tests", **row} for row in anova_rows(of_samples))
        return [*mixed_model_rows(of_samples), *anovas]

    response_source = dbt.config.meta_get("response_source")
    by_study = {"responses": responses_to_anchors(dbt.ref("counts"), f"response_source = '{response_source}'")}
    shared = {"techniques": dbt.ref("int_techniques_defined")}
    return kept_by_study(session, dbt.this, rows_of, MIXED_MODELS, by_study, shared)
