-- One row per trial of a published batch that the gate keeps out of the public tables, with why. The row set
-- `as_recorded` counts its number all the same, because papers do.
with trials as (
    select * from {{ ref('int_trials_treated') }}
    where is_quarantined
),

baselines as (
    select study, vignette, llm, baseline from {{ ref('baselines') }}
    where temperature_scope = 'pooled'
)

select {{ declared_columns() }} from trials
left join baselines using (study, vignette, llm)
