"""One row per study, domain, pair of techniques, design, level, quantity solved for, target and specification."""


def model(dbt, session):
    """Read the counts and the costs and return the table."""
    from analysis.power import COLUMNS, power
    from analysis.tables import table

    claims = dbt.ref("published_claims").df()
    responses = dbt.ref("response_counts").df()
    costs = dbt.ref("technique_costs").df()
    techniques = dbt.ref("int_techniques_defined").df()
    response_source = dbt.config.meta_get("response_source")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    responses = responses[responses["response_source"] == response_source]
    printed = claims[(claims["quantity"] == "percent_of_baseline_cohens_d") & (claims["comparison"] == "=")]
    published = {
        (row.study, row.domain, frozenset((row.technique, row.technique_b))): row.published_value
        for row in printed.itertuples()
    }
    return table(power(responses, techniques, costs, margin_pp=float(margin_pp), published=published), COLUMNS)
