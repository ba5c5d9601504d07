-- One row per batch and trial that the last verdict of the batch flags and nobody released since: how bad, and why.
with releases as (
    select object_id as trial_id, max(ordinal) as ordinal from {{ source('raw', 'gate_acts') }}
    where object = 'trial' and act = 'release'
    group by all
)

select
    flags.trial_id,
    flags.batch_id,
    bool_or(flags.severity = 'quarantined') as is_quarantined,
    string_agg(distinct flags.reason, '; ' order by flags.reason) as flag_reasons
from {{ source('raw', 'flagged_trials') }} as flags
semi join {{ ref('stg_batch_verdicts') }} using (verdict_id)
left join releases using (trial_id)
where releases.ordinal is null or releases.ordinal < flags.ordinal
group by all
