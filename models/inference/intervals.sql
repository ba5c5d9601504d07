-- One row per study, domain, technique, anchor direction, llm (null = all), metric, weighting, row set, baseline scope
-- and method.
select
    study,
    domain,
    technique,
    anchor_direction,
    llm,
    metric,
    weighting,
    row_set,
    baseline_scope,
    method,
    procedure,
    estimate,
    low,
    high,
    confidence,
    df,
    n_resamples,
    seed,
    n_trials,
    n_llms,
    reason
from {{ ref('resampled') }}
where part = 'intervals'
