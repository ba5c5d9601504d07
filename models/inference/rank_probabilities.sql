-- One row per study, domain, llm (null = all), technique, metric and weighting.
{{ part_of(ref('resampled')) }}
