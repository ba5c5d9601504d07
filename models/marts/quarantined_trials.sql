-- One row per trial of a published batch that the gate keeps out of the public tables, with why. The row set
-- `as_recorded` counts its number all the same, because papers do.
select {{ declared_columns() }} from {{ ref('int_trials_compared') }}
where is_quarantined
