-- One row per version and entry of which a version says something, be it by a row of its own, or by having brought a
-- trial that later versions speak of: what trial the entry is then, and the batch whose verdict decides whether it
-- counts.
with source_versions as (
    select * from {{ source('raw', 'source_versions') }}
),

landed as (
    select batches.version_id, trials.trial_id, trials.batch_id, trials.source_file
    from {{ source('raw', 'trials') }} as trials
    inner join {{ source('raw', 'batches') }} as batches using (batch_id)
    where batches.version_id is not null
),

said as (
    select version_id, entry, record_id, batch_id, source_file from {{ source('raw', 'version_entries') }}
),

named as (
    select entry as trial_id from said
    union
    select record_id as trial_id from said
),

brought as (
    select version_id, trial_id as entry, trial_id as record_id, batch_id, source_file from landed
    semi join named using (trial_id)
),

entries as (
    select * from said
    union all
    -- what changed brings a trial that is no new entry
    select brought.* from brought
    anti join said using (version_id, record_id)
)

select entries.*, study, archive, source_name, is_older, is_complete, imported_at, ordinal
from entries
inner join source_versions using (version_id)
