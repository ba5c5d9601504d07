-- One row per version and entry of which a version says something, be it by a row of its own, or by having brought a
-- trial that later versions speak of: what trial the entry is then, and the batch whose verdict decides whether it
-- counts.
with said as (
    select version_id, entry, record_id, batch_id, source_file from {{ source('raw', 'version_entries') }}
),

versions as (
    select version_id, study, archive, source_name, is_older, is_complete, imported_at, ordinal
    from {{ source('raw', 'source_versions') }}
),

trials as (
    select trial_id, batch_id, source_file from {{ source('raw', 'trials') }}
),

batches as (
    select batch_id, version_id from {{ source('raw', 'batches') }}
    where version_id is not null
),

named as (
    select entry as trial_id from said
    union
    select record_id as trial_id from said
    where record_id is not null
),

brought as (
    select
        batches.version_id,
        trials.trial_id as entry,
        trials.trial_id as record_id,
        trials.batch_id,
        trials.source_file
    from trials
    semi join named using (trial_id)
    inner join batches using (batch_id)
),

entries as (
    select * from said
    union all
    -- what changed brings a trial that is no new entry
    select brought.* from brought
    anti join said using (version_id, record_id)
)

select * from entries
inner join versions using (version_id)
