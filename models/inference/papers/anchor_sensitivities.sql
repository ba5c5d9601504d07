-- One row per study, comparison, set of scorings, other set, evidence, specification and metric, over questions.
{{ part_of(ref('measured')) }}
