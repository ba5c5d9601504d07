-- One row per batch and trial that the last verdict of the batch flags and nobody released: how bad, and why. A release
-- is of what was found: it holds while audits find the same of the trial.
with flags as (
    select * exclude (detail), coalesce(detail, '') as detail from {{ source('raw', 'flagged_trials') }}
),

released as (
    select flags.trial_id, flags.reason, flags.detail from flags
    inner join {{ source('raw', 'gate_acts') }} as acts
        on flags.trial_id = acts.object_id and flags.ordinal <= acts.ordinal
    where acts.object = 'trial' and acts.act = 'release'
)

select
    flags.trial_id,
    flags.batch_id,
    bool_or(flags.severity = 'quarantined') as is_quarantined,
    string_agg(distinct flags.reason, '; ' order by flags.reason) as flag_reasons
from flags
semi join {{ ref('stg_batch_verdicts') }} using (verdict_id)
anti join released using (trial_id, reason, detail)
group by all
