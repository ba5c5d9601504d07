-- One row per trial. The number in a collected answer is read here; a recorded archive keeps the number it recorded.
with source as (
    select * from {{ source('raw', 'trials') }}
),

readings as (
    select
        *,
        case when source != 'recorded' then {{ read_response('response_text') }} end as reading,
        case when source != 'recorded' then {{ read_response('first_text') }} end as first_reading
    from source
)

select
    trial_id,
    batch_id,
    study,
    source,
    source_file,
    source_line,
    llm_recorded,
    vignette,
    technique,
    anchor_direction as anchor_direction_recorded,
    anchor_value,
    temperature,
    coalesce(
        status_recorded,
        case
            when response_recorded is null and struct_extract(reading, 'response') is null
                then struct_extract(reading, 'status')
        end
    ) as status_recorded,
    coalesce(
        reason_recorded, case when response_recorded is null then struct_extract(reading, 'reason') end
    ) as reason_recorded,
    case
        when status_recorded is null then coalesce(response_recorded, struct_extract(reading, 'response'))
        else response_recorded
    end as response_recorded,
    coalesce(first_response, struct_extract(first_reading, 'response')) as first_response,
    iterations,
    nullif(trim(response_text), '') as response_text,
    protocol,
    asked_at
from readings
