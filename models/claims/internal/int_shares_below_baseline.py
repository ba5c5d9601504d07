"""One row per study, domain, technique, LLM and anchor direction: the accepted answers below its own baseline.

With an exact interval, which a mean of answers that do not vary lacks.
"""


def model(dbt, session):
    """Count in the accepted answers, over the baseline of all temperatures, and return the table."""
    from analysis.methods.small_samples import share_interval
    from analysis.tables import columns, table

    keys = ["study", "domain", "technique", "llm", "anchor_direction"]
    effects = dbt.ref("technique_effects").df()
    is_counted = effects["llm"].notna() & effects["share_below_baseline"].notna()
    recommended = {"temperature_scope": "pooled", "row_set": "accepted", "baseline_scope": "pooled", "weighting": "llm"}
    for column, value in recommended.items():
        is_counted &= effects[column] == value
    counted = effects[is_counted]
    counted = counted.assign(n_below=(counted["share_below_baseline"] * counted["n_trials"]).round())
    shares = counted.groupby(keys, observed=True)[["n_below", "n_trials"]].sum().reset_index()
    low, high = share_interval(shares["n_below"], shares["n_trials"])
    shares = shares.assign(percent=100 * shares["n_below"] / shares["n_trials"], low=100 * low, high=100 * high)
    kinds = columns(f"varchar: {' '.join(keys)}", "double: percent low high", "bigint: n_below n_trials")
    return table(shares.astype({"n_below": int}).to_dict("records"), kinds)
