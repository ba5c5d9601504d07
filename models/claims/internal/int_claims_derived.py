"""One row per published claim, part and version of the source: its values, looked up or derived from other claims."""


def model(dbt, session):
    """Look up what each claim asks for in the table that has it, derive the rest, and return the table."""
    from analysis.claims.derivations import COLUMNS, derived_claims
    from analysis.claims.quantities import looked_up, lookups
    from analysis.tables import table

    relations = {
        "anchor_effects": dbt.ref("anchor_effects"),
        "anchor_sensitivities": dbt.ref("anchor_sensitivities"),
        "conditions": dbt.ref("conditions"),
        "contrasts": dbt.ref("contrasts"),
        "equivalence_tests": dbt.ref("equivalence_tests"),
        "int_claim_cells": dbt.ref("int_claim_cells"),
        "int_claim_effects": dbt.ref("int_claim_effects"),
        "int_claim_indices": dbt.ref("int_claim_indices"),
        "int_claims_recommended": dbt.ref("int_claims_recommended"),
        "int_trials_directed": dbt.ref("int_trials_directed"),
        "intervals": dbt.ref("intervals"),
        "mixed_effects": dbt.ref("mixed_effects"),
        "model_tests": dbt.ref("model_tests"),
        "power": dbt.ref("power"),
        "random_effects": dbt.ref("random_effects"),
        "sensitivity_scores": dbt.ref("sensitivity_scores"),
        "soft_expectations": dbt.ref("soft_expectations"),
        "variance_components": dbt.ref("variance_components"),
    }
    quantities = dbt.ref("quantities").to_arrow_table().to_pylist()
    queries = lookups(quantities, dbt.ref("int_claim_specifications"), relations)
    session.execute(f"set variable margin = {float(dbt.config.meta_get('equivalence_margin_pp'))}")
    found = looked_up(row for query in queries for row in session.execute(query).fetchall())
    claims = dbt.ref("published_claims").to_arrow_table().to_pylist()
    return table(derived_claims(claims, found), COLUMNS)
