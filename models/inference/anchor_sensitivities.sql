-- One row per study, set of scorings, llm, evidence, specification and metric: an LLM's mean over questions.
{{ part_of(ref('measured')) }}
