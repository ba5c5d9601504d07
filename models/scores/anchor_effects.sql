-- One row per study, scoring, llm, variation and specification: what the high anchor does and the low one does not.
{{ part_of(ref('measured')) }}
