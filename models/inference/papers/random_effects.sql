-- One row per study, domain, row set, baseline scope, fit, estimation, llm and term.
{{ part_of(ref('mixed_models')) }}
