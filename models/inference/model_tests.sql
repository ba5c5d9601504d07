-- One row per study, domain, row set, baseline scope, test, method, term, fits and pair of techniques (null = all).
select
    study,
    domain,
    row_set,
    baseline_scope,
    test,
    term,
    technique_a,
    technique_b,
    fit_a,
    fit_b,
    statistic,
    df1,
    df2,
    p_value,
    partial_eta_squared,
    method,
    seed,
    n_trials,
    n_llms,
    reason
from {{ ref('mixed_models') }}
where part = 'model_tests'
