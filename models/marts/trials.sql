-- One row per trial.
-- What the gate quarantined is in quarantined_trials.
with trials as (
    select * from {{ ref('int_trials_treated') }}
    where not is_quarantined
),

baselines as (
    select study, paradigm, vignette, item, llm, any_value(baseline) as baseline
    from {{ ref('conditions') }}
    where is_baseline and row_set = 'accepted' and temperature_scope = 'pooled'
    group by all
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
    left join baselines on {{ same_in('trials', 'baselines', ['study', 'paradigm', 'vignette', 'item', 'llm']) }}
)

select {{ declared_columns() }} from compared
