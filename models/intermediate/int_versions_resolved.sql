-- One row per trial that versions of a source speak of: whether it is what its source says now, in which batch, and
-- else what took its place. The last version whose batch is published has the last word on an entry, else the newest;
-- that an entry is gone counts where the version is the whole of its source. A trial of which no version speaks is what
-- it was when it came.
with last_words as (
    select
        study,
        archive,
        source_name,
        entry,
        max_by({{ struct_of(['record_id', 'batch_id', 'version_id', 'ordinal']) }}, ordinal) as last_word
    from {{ ref('stg_version_entries') }} as entries
    semi join {{ ref('stg_batch_verdicts') }} as verdicts
        on entries.batch_id = verdicts.batch_id and verdicts.is_published
    where record_id is not null or is_complete
    group by all
),

-- of what nobody has published
newest_words as (
    select
        study,
        archive,
        source_name,
        entry,
        max_by({{ struct_of(['record_id', 'batch_id', 'version_id', 'ordinal']) }}, ordinal) as newest_word
    from {{ ref('stg_version_entries') }}
    where record_id is not null and not is_older
    group by all
),

words as (
    select
        entries.record_id as trial_id,
        coalesce(
            last_word, case when newest_word['record_id'] != entries.record_id then newest_word end
        ) as last_word
    from {{ ref('stg_version_entries') }} as entries
    left join last_words using (study, archive, source_name, entry)
    left join newest_words using (study, archive, source_name, entry)
    where entries.record_id is not null
),

fates as (
    select trial_id, max_by(last_word, last_word['ordinal']) as last_word from words
    group by all
),

held as (
    select last_word['record_id'] as trial_id, max_by(last_word['batch_id'], last_word['ordinal']) as batch_id
    from last_words
    where last_word['record_id'] is not null
    group by all
)

select
    trial_id,
    held.batch_id,
    held.trial_id is not null as is_held,
    case when not is_held then last_word['record_id'] end as superseded_by,
    case when not is_held then last_word['version_id'] end as superseded_by_version
from fates
left join held using (trial_id)
