-- One row per study, evidence, specification and metric: how an LLM's mean goes with its number of parameters.
{{ part_of(ref('measured')) }}
