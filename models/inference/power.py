"""One row per study, domain, pair of techniques, design, level, goal, quantity solved for, target and specification."""


def model(dbt, session):
    """Read the counts and the costs and return the table."""
    from analysis.power import COLUMNS, power
    from analysis.settling import to_settle_rows
    from analysis.tables import table

    claims = dbt.ref("published_claims").df()
    responses = dbt.ref("response_counts").df()
    costs = dbt.ref("technique_costs").df()
    prices = dbt.ref("prices").df()
    controls = dbt.ref("controls").df()
    techniques = dbt.ref("int_techniques_defined").df()
    response_source = dbt.config.meta_get("response_source")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    responses = responses[responses["response_source"] == response_source]
    printed = claims[(claims["quantity"] == "percent_of_baseline_cohens_d") & (claims["comparison"] == "=")]
    published = {
        (row.study, row.domain, frozenset((row.technique, row.technique_b))): row.published_value
        for row in printed.itertuples()
    }
    observed = power(responses, techniques, costs, margin_pp=float(margin_pp), published=published)
    ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
    to_settle = to_settle_rows(responses, ranked, controls, costs, prices, margin_pp=float(margin_pp))
    return table([*observed, *to_settle], COLUMNS)
