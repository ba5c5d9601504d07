"""One row per row of rank_probabilities and predictions (`part`): each study and domain is decided on once."""


def model(dbt, session):
    """Read the counts under both readings of the texts, and return the table."""
    from analysis.decisions import DECIDED, decision_rows
    from analysis.tables import table

    responses = dbt.ref("response_counts").df()
    techniques = dbt.ref("int_techniques_defined").df()
    controls = dbt.ref("controls").df()
    missing = dbt.ref("int_answers_missing").df()
    response_source = dbt.config.meta_get("response_source")
    resamples = dbt.config.meta_get("resamples")
    seed = dbt.config.meta_get("seed")
    margin_pp = dbt.config.meta_get("equivalence_margin_pp")
    is_read_so = responses["response_source"] == response_source
    rows = decision_rows(
        responses[is_read_so],
        responses[~is_read_so],
        set(techniques.loc[techniques["is_ranked"], "technique"]),
        controls,
        missing,
        margin_pp=float(margin_pp),
        n_draws=int(resamples),
        seed=int(seed),
    )
    return table(rows, DECIDED)
