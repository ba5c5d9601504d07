-- One row per trial of which a source itself says how it read the answer, where that names an option that was shown (or
-- its letter) or a number, and stands in a list as long as that of the answers.
with trials as (
    select trial_id, batch_id, technique, arm, item, answer_kind, options_shown, read_as from {{ ref('stg_trials') }}
    where source = 'recorded'
),

telling as (
    select distinct batch_id from trials
    where read_as is not null
),

beside_their_answers as (
    select * from trials
    semi join telling using (batch_id)
    window lists as (partition by batch_id, technique, arm, item)
    qualify count(read_as) over lists = count(*) over lists
),

readings as (
    select
        trial_id,
        case
            when answer_kind != 'choice' then null
            when array_contains(options_shown, read_as) then read_as
            when length(read_as) = 1 then options_shown[ascii(read_as) - 64]
        end as label_by_source,
        case when answer_kind = 'number' then try_cast(read_as as double) end as number_by_source
    from beside_their_answers
)

select * from readings
where coalesce(label_by_source, number_by_source::varchar) is not null
