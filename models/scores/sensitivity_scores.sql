-- One row per study, scoring, llm, variation and specification: the ABSS and what it is made of.
{{ part_of(ref('measured')) }}
