-- One row per study, question, technique, control and specification that comes to numbers of its own.
{{ part_of(ref('decided')) }}
