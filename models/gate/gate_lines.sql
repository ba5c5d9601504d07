-- One row per trial of a recorded archive of which the line says something else than its number: what the source
-- replaced, its flags, and what the text states, where the number or what the source itself read differs from it.
with trials as (
    select *, nullif(response_unit, 'unknown') as unit from {{ ref('gate_readings') }}
    left join {{ ref('int_readings_recorded') }} using (trial_id)
    where source = 'recorded'
),

paragraphs as (
    select distinct paragraph, unit from trials
    where paragraph is not null
),

readings as (
    select paragraph, unit, {{ read_response('paragraph', 'unit') }} as reading from paragraphs
),

said as (
    select
        trials.trial_id, trials.number_before, trials.flag_out_of_range,
        trials.label_read as label_said, trials.label_by_source, trials.number_by_source,
        case when trials.paragraph is null then trials.number_read else readings.reading['response'] end as number_said,
        case when trials.paragraph is null then trials.status_read else readings.reading['status'] end as status_stated,
        case when trials.technique != 'sacd' or status_stated != 'unparsed' then status_stated end as status_said,
        trials.number_if_recorded as number,
        (trials.flag_out_of_range is distinct from (number < trials.flag_min or number > trials.flag_max))
        and trials.flag_min < trials.flag_max and number is not null as is_flag_stale,
        trials.number_before is not null and (number is distinct from trials.number_before) as is_mended,
        (status_said is not null and (number is distinct from number_said))
        or (label_by_source is not null and label_by_source is distinct from label_said)
        or (number_by_source is not null and number_by_source is distinct from number_said) as is_read_otherwise
    from trials
    left join readings on trials.paragraph = readings.paragraph and trials.unit is not distinct from readings.unit
)

select * exclude (number, status_stated) from said
where is_flag_stale or is_mended or is_read_otherwise
