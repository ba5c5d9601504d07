-- One row per trial of a published batch that the gate keeps out of the public tables, with why. The row set
-- `as_recorded` counts its number all the same, because papers do.
with trials as (
    select * from {{ ref('int_trials_treated') }}
    where is_quarantined
),

baselines as (
    select study, paradigm, vignette, item, llm, any_value(baseline) as baseline
    from {{ ref('conditions') }}
    where is_baseline and row_set = 'accepted' and temperature_scope = 'pooled'
    group by all
),

compared as (
    select trials.*, baselines.baseline
    from trials
    left join baselines on {{ same_in('trials', 'baselines', ['study', 'paradigm', 'vignette', 'item', 'llm']) }}
)

select {{ declared_columns() }} from compared
