-- One row per study, domain, row set, baseline scope, fit, estimation and term: fixed effects.
select
    study,
    domain,
    row_set,
    baseline_scope,
    fit,
    estimation,
    term,
    estimate,
    std_error,
    df,
    low,
    high,
    confidence,
    log_likelihood,
    n_parameters,
    method,
    seed,
    n_trials,
    n_llms,
    reason
from {{ ref('mixed_models') }}
where part = 'mixed_effects'
