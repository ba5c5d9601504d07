-- One row per study, question, llm (null = one that nobody asked), vendor (null = a new one), technique and control.
{{ part_of(ref('decided')) }}
