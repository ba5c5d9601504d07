-- One row per study, domain, technique, anchor direction, llm (null = all), metric, weighting, row set, baseline scope
-- and method.
{{ part_of(ref('resampled')) }}
