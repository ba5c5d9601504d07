-- One row per study, question, llm (null = one that nobody asked), technique and control.
{{ part_of(ref('decided')) }}
