-- One row per study, question (paradigm, domain, goal, measure, arms), llm (null = all), technique and control.
{{ part_of(ref('decided')) }}
