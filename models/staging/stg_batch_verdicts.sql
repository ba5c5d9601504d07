-- One row per audited batch: its last verdict, what a person decided since, and whether its trials are published.
with verdicts as (
    select * from {{ source('raw', 'batch_verdicts') }}
),

acts as (
    select * from {{ source('raw', 'gate_acts') }}
    where object = 'batch'
),

last_verdicts as (
    select
        batch_id,
        arg_max(verdict_id, checked_at) as verdict_id,
        arg_max(verdict, checked_at) as verdict,
        max(checked_at) as checked_at
    from verdicts
    group by batch_id
),

last_acts as (
    select
        object_id as batch_id,
        arg_max(act, acted_at) as act,
        max(acted_at) as acted_at
    from acts
    group by object_id
)

select
    last_verdicts.batch_id,
    last_verdicts.verdict_id,
    last_verdicts.verdict,
    last_acts.act,
    coalesce(last_acts.acted_at >= last_verdicts.checked_at, false) as is_decided,
    case
        when last_acts.acted_at >= last_verdicts.checked_at then last_acts.act = 'accept'
        else last_verdicts.verdict != 'failed'
    end as is_published
from last_verdicts
left join last_acts using (batch_id)
