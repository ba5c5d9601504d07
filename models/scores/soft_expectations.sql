-- One row per study, scoring, llm, variation, anchor direction, anchor and specification: what the LLM would answer.
{{ part_of(ref('measured')) }}
