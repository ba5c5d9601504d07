-- One row per version of a source and entry that it holds: the trial that the entry is in it, and the batch by whose
-- verdict it is published. A version has what the versions before it have, but for what it says itself.
with reach as (
    select versions.version_id, earlier.version_id as said_by
    from {{ source('raw', 'source_versions') }} as versions
    inner join {{ source('raw', 'source_versions') }} as earlier
        on
            versions.study = earlier.study
            and versions.archive = earlier.archive
            and versions.source_name = earlier.source_name
            and (
                versions.version_id = earlier.version_id
                or (not earlier.is_older and versions.ordinal > earlier.ordinal)
            )
),

spoken_of as (
    select
        reach.version_id,
        entries.entry,
        max_by({{ struct_of(['record_id', 'batch_id', 'source_file']) }}, ordinal) as last_word
    from {{ ref('stg_version_entries') }} as entries
    inner join reach on entries.version_id = reach.said_by
    group by all
),

brought as (
    select reach.version_id, trials.trial_id, trials.batch_id, trials.source_file
    from {{ source('raw', 'trials') }} as trials
    inner join {{ source('raw', 'batches') }} as batches using (batch_id)
    inner join reach on batches.version_id = reach.said_by
    anti join {{ ref('stg_version_entries') }} as entries on trials.trial_id = entries.record_id
)

select version_id, trial_id as entry, trial_id, batch_id, source_file from brought
union all
select
    version_id,
    entry,
    last_word['record_id'] as trial_id,
    last_word['batch_id'] as batch_id,
    last_word['source_file'] as source_file
from spoken_of
where last_word['record_id'] is not null
