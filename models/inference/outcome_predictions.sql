-- One row per study, measure, contrast, llm (null = one that nobody asked) and technique.
{{ part_of(ref('measured_outcomes')) }}
