-- One row per audited batch: its last verdict, what a person decided, whether that lets its trials through, and whether
-- they are published: those of an older version are not. A rejection is of what was rejected: it holds until somebody
-- accepts, also in another batch that says the same of the vignette. An acceptance is of what the batch failed then: it
-- holds until an audit finds that the batch fails something else, or the same by more trials.
with acts as (
    select * from {{ source('raw', 'gate_acts') }}
    where object = 'batch'
),

verdicts as (
    select * from {{ source('raw', 'batch_verdicts') }}
),

failures as (
    select distinct verdict_id, check_name, n_offending from {{ source('raw', 'batch_checks') }}
    where not is_passed and (level = 'fail' or observed_value is null)
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
    from verdicts
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
),

-- with the verdict that they had then
accepted as (
    select last_acts.batch_id, arg_max(verdicts.verdict_id, verdicts.ordinal) as verdict_id
    from last_acts
    inner join verdicts
        on last_acts.batch_id = verdicts.batch_id and last_acts.ordinal >= verdicts.ordinal
    where last_acts.act = 'accept'
    group by last_acts.batch_id
),

failing_more as (
    select accepted.batch_id from accepted
    inner join last_verdicts using (batch_id)
    inner join failures on last_verdicts.verdict_id = failures.verdict_id
    left join failures as known on accepted.verdict_id = known.verdict_id and failures.check_name = known.check_name
    where failures.n_offending > coalesce(known.n_offending, -1)
),

held_accepted as (
    select batch_id, true as is_accepted from accepted
    anti join failing_more using (batch_id)
)

select
    last_verdicts.batch_id,
    last_verdicts.verdict_id,
    last_verdicts.verdict,
    last_acts.act,
    coalesce(batches.is_older, false) as is_older,
    coalesce(last_acts.act = 'reject' or is_accepted, false) as is_decided,
    case
        when last_acts.act = 'reject' then false
        else is_accepted is not null or last_verdicts.verdict != 'failed'
    end as has_passed,
    has_passed and not coalesce(batches.is_older, false) as is_published
from last_verdicts
left join last_acts using (batch_id)
left join held_accepted using (batch_id)
left join batches using (batch_id)
