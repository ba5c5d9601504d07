-- One row per study, domain, llm (null = one that nobody asked), technique and metric.
{{ part_of(ref('decided')) }}
