-- One row per study, domain, row set, baseline scope, fit, estimation and component.
select
    study,
    domain,
    row_set,
    baseline_scope,
    fit,
    estimation,
    component,
    variance,
    sd,
    icc,
    residual_reduction_percent,
    method,
    seed,
    n_trials,
    n_llms,
    reason
from {{ ref('mixed_models') }}
where part = 'variance_components'
