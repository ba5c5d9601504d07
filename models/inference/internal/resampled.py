"""One row per row of intervals and rank_probabilities (`part`), from one pass over the resamples."""


def model(dbt, session):
    """Read the counts, draw, and return the table."""
    from analysis.resampled import RESAMPLED, resampled_rows
    from analysis.tables import table

    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    claims = dbt.ref("published_claims").df()
    response_source = dbt.config.meta_get("response_source")
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    rows = resampled_rows(
        responses[responses["response_source"] == response_source],
        set(techniques.loc[techniques["is_ranked"], "technique"]),
        n_resamples=int(resamples),
        seed=int(seed),
        margin_pp=float(margin_pp),
        published=set(claims["study"]),
    )
    return table(rows, RESAMPLED)
