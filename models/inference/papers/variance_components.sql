-- One row per study, domain, row set, baseline scope, fit, estimation and component.
{{ part_of(ref('mixed_models')) }}
