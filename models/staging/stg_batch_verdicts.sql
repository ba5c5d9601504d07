-- One row per audited batch: its last verdict, what a person decided, whether that lets its trials through, and whether
-- they are published: those of an older version are not. A rejection is of what was rejected: it holds until somebody
-- accepts, also in another batch that says the same of the vignette.
with acts as (
    select * from {{ source('raw', 'gate_acts') }}
    where object = 'batch'
),

batches as (
    select
        batches.batch_id,
        batches.study,
        batches.vignette,
        coalesce(batches.content, batches.batch_id) as content,
        coalesce(versions.is_older, false) as is_older
    from {{ source('raw', 'batches') }} as batches
    left join {{ source('raw', 'source_versions') }} as versions using (version_id)
),

last_verdicts as (
    select
        batch_id,
        arg_max(verdict_id, ordinal) as verdict_id,
        arg_max(verdict, ordinal) as verdict,
        max(ordinal) as ordinal
    from {{ source('raw', 'batch_verdicts') }}
    group by batch_id
),

alike as (
    select batches.batch_id, same.batch_id as object_id from batches
    inner join batches as same using (study, vignette, content)
    union
    select batch_id, batch_id as object_id from last_verdicts
),

last_acts as (
    select alike.batch_id, arg_max(acts.act, acts.ordinal) as act, max(acts.ordinal) as ordinal from acts
    inner join alike using (object_id)
    group by alike.batch_id
)

select
    last_verdicts.batch_id,
    last_verdicts.verdict_id,
    last_verdicts.verdict,
    last_acts.act,
    coalesce(batches.is_older, false) as is_older,
    coalesce(last_acts.act = 'reject' or last_acts.ordinal >= last_verdicts.ordinal, false) as is_decided,
    case
        when last_acts.act = 'reject' then false
        when last_acts.act = 'accept' and last_acts.ordinal >= last_verdicts.ordinal then true
        else last_verdicts.verdict != 'failed'
    end as has_passed,
    has_passed and not coalesce(batches.is_older, false) as is_published
from last_verdicts
left join last_acts using (batch_id)
left join batches using (batch_id)
