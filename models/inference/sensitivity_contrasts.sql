-- One row per study, comparison, set of scorings, other set, evidence, specification and metric: a paired difference.
{{ part_of(ref('measured')) }}
