-- One row per trial of a recorded archive, with what its line says beside the number: what the source replaced, its
-- flags, and what the text states. Of document A's SACD only the beginning of the last reply is kept; its first
-- paragraph states the answer, or says nothing of what follows it.
with trials as (
    select trial_id, line from {{ ref('stg_trials') }}
    where source = 'recorded'
),

read_trials as (
    select * from {{ ref('int_trials_read') }}
),

said as (
    select
        trial_id,
        technique,
        number_read,
        status_read,
        nullif(response_unit, 'unknown') as unit,
        case
            when
                technique = 'sacd'
                and (line ->> '$.iterationDetails[#-1].biasDetected') = 'true'
                then split_part(line ->> '$.iterationDetails[#-1].rawResponse', chr(10) || chr(10), 1)
        end as paragraph,
        try_cast(line ->> '$.originalResponse' as double) as number_before,
        try_cast(line ->> '$.outOfRange' as boolean) as flag_out_of_range,
        try_cast(line ->> '$.validRange.min' as double) as flag_min,
        try_cast(line ->> '$.validRange.max' as double) as flag_max
    from read_trials
    inner join trials using (trial_id)
),

paragraphs as (
    select distinct paragraph, unit from said
),

readings as (
    select paragraph, unit, {{ read_response('paragraph', 'unit') }} as reading from paragraphs
    where paragraph is not null
)

select
    said.trial_id,
    said.number_before,
    said.flag_out_of_range,
    said.flag_min,
    said.flag_max,
    case when said.paragraph is null then said.number_read else readings.reading['response'] end as number_said,
    case when said.paragraph is null then said.status_read else readings.reading['status'] end as status_stated,
    case when said.technique != 'sacd' or status_stated != 'unparsed' then status_stated end as status_said
from said
left join readings on said.paragraph = readings.paragraph and said.unit is not distinct from readings.unit
