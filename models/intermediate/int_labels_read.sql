-- One row per study, distinct reply (in its place the label, where that was recorded), options that were shown
-- and reading that was meant when it was asked: the label or the option that it names. All are read as the paradigm
-- says now.
with paradigms as (
    select study, paradigm, {{ some_value('labels') }} as labels, {{ some_value('answer_reading') }} as reading_stated
    from {{ ref('stg_paradigms') }}
    group by all
),

replies as (
    select distinct
        trials.study,
        trials.paradigm,
        coalesce(trials.label_recorded, trials.response_text) as response_text,
        trials.answer_kind,
        trials.options_shown,
        trials.answer_reading,
        coalesce(paradigms.reading_stated, trials.answer_reading) as way_to_read,
        case trials.answer_kind when 'label' then paradigms.labels end as labels,
        case trials.answer_kind when 'choice' then trials.options_shown end as options
    from {{ ref('stg_trials') }} as trials
    left join paradigms using (study, paradigm)
    where
        trials.answer_kind in ('choice', 'label')
        and coalesce(trials.label_recorded, trials.response_text) is not null
),

readings as (
    select *, {{ label_reading('response_text', 'labels', 'way_to_read', 'options') }} as reading from replies
)

select
    {{ all_but(['way_to_read', 'labels', 'options', 'reading']) }},
    reading['label'] as label_read,
    reading['status'] as status_read,
    reading['reason'] as reason_read
from readings
