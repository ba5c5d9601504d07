-- One row per study, domain, llm (null = all), technique, metric and weighting.
select
    study,
    domain,
    llm,
    technique,
    metric,
    weighting,
    method,
    loss,
    gain,
    gain_low,
    gain_high,
    p_best,
    p_worst,
    p_worse_than_nothing,
    p_metrics_disagree,
    rank_low,
    rank_high,
    decision,
    level,
    margin_pp,
    n_resamples,
    seed,
    n_trials,
    n_llms,
    reason
from {{ ref('resampled') }}
where part = 'rank_probabilities'
