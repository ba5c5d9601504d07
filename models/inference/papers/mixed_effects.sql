-- One row per study, domain, row set, baseline scope, fit, estimation and term: fixed effects.
{{ part_of(ref('mixed_models')) }}
