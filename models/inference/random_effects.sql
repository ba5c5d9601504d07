-- One row per study, domain, row set, baseline scope, fit, estimation, llm and term.
select
    study,
    domain,
    row_set,
    baseline_scope,
    fit,
    estimation,
    llm,
    term,
    estimate,
    observed,
    method,
    seed,
    n_trials,
    n_llms,
    reason
from {{ ref('mixed_models') }}
where part = 'random_effects'
