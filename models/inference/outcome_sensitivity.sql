-- One row per study, measure, contrast, technique, control and specification: what would change a decision.
{{ part_of(ref('measured_outcomes')) }}
