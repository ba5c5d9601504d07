-- One row per study, domain, llm (null = all), technique, metric and control.
{{ part_of(ref('decided')) }}
