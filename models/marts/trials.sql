-- One row per trial.
-- What the gate quarantined is in quarantined_trials.
with trials as (
    select * from {{ ref('int_trials_treated') }}
    where not is_quarantined
),

baselines as (
    select study, vignette, llm, baseline from {{ ref('baselines') }}
    where temperature_scope = 'pooled'
),

compared as (
    select
        trials.* replace (
            {{ reasons([
                ("response is null", "' || coalesce(reason, 'not_a_number') || '"),
                ("baseline is null", "no_baseline"),
                ("baseline = 0", "zero_baseline"),
            ]) }} as reason
        ),
        baselines.baseline,
        {{ percent_of_baseline('trials.response', 'baselines.baseline') }} as percent_of_baseline
    from trials
    left join baselines using (study, vignette, llm)
)

select {{ declared_columns() }} from compared
