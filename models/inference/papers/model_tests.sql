-- One row per study, domain, row set, baseline scope, test, method, term, fits and pair of techniques (null = all).
{{ part_of(ref('mixed_models')) }}
