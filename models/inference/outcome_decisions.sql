-- One row per study, measure, contrast, llm (null = all), technique and control: what to do about a technique.
{{ part_of(ref('measured_outcomes')) }}
