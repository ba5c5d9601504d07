-- One row per trial.
-- What the gate quarantined is in quarantined_trials.
with compared as (
    select
        * replace (
            {{ reasons([
                ("response is null", "' || coalesce(reason, 'not_a_number') || '"),
                ("baseline is null", "no_baseline"),
                ("baseline = 0", "zero_baseline"),
            ]) }} as reason
        ),
        {{ percent_of_baseline('response', 'baseline') }} as percent_of_baseline
    from {{ ref('int_trials_compared') }}
    where not is_quarantined
)

select {{ declared_columns() }} from compared
