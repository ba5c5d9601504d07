-- One row per trial of a recorded archive, with what its line says beside the number: what the source replaced, its
-- flags, and what the text states. Of document A's SACD only the beginning of the last reply is kept; its first
-- paragraph states the answer, or says nothing of what follows it.
with trials as (
    select * from {{ ref('stg_trials') }}
    where source = 'recorded'
),

directed as (
    select trial_id, response_unit, number_read, status_read from {{ ref('int_trials_directed') }}
),

said as (
    select
        trials.trial_id,
        trials.technique,
        directed.number_read,
        directed.status_read,
        nullif(directed.response_unit, 'unknown') as unit,
        case
            when trials.response_text is null and trials.technique = 'sacd'
                and (trials.line ->> '$.iterationDetails[#-1].biasDetected') = 'true'
                then split_part(trials.line ->> '$.iterationDetails[#-1].rawResponse', chr(10) || chr(10), 1)
        end as paragraph,
        try_cast(trials.line ->> '$.originalResponse' as double) as number_before,
        try_cast(trials.line ->> '$.outOfRange' as boolean) as flag_out_of_range,
        try_cast(trials.line ->> '$.validRange.min' as double) as flag_min,
        try_cast(trials.line ->> '$.validRange.max' as double) as flag_max
    from trials
    inner join directed using (trial_id)
),

paragraphs as (
    select distinct paragraph, unit from said
    where paragraph is not null
),

readings as (
    select *, {{ read_response('paragraph', 'unit') }} as reading from paragraphs
),

judged as (
    select
        said.*,
        coalesce(said.number_read, struct_extract(readings.reading, 'response')) as number_said,
        coalesce(said.status_read, struct_extract(readings.reading, 'status')) as status_said
    from said
    left join readings on said.paragraph = readings.paragraph and said.unit is not distinct from readings.unit
)

select
    trial_id,
    number_before,
    flag_out_of_range,
    flag_min,
    flag_max,
    number_said,
    case when technique != 'sacd' or status_said in ('answered', 'refused') then status_said end as status_said
from judged
