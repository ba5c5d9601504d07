-- One row per trial of a paradigm that a study names, measure and instrument; judgements and what the gate quarantined
-- stay out.
select {{ declared_columns() }} from {{ ref('int_outcomes_measured') }}
where not is_quarantined
