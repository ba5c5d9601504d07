with source as (
    select * from {{ source('raw', 'trials') }}
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
    status_recorded,
    reason_recorded,
    response_recorded,
    first_response as first_response_recorded,
    iterations,
    nullif(trim(response_text), '') as response_text,
    first_text,
    protocol,
    asked_at
from source
