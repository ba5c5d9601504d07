-- One row per study, measure, technique, contrast, llm (null = all), row set, weighting and level: how large a bias is.
{{ part_of(ref('measured_outcomes')) }}
