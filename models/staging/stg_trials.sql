-- One row per trial, as it was landed.
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
    session_id,
    llm_recorded,
    llm_returned,
    vignette,
    technique,
    anchor_direction as anchor_direction_recorded,
    anchor_value,
    anchor_baseline,
    anchor_n_trials,
    temperature,
    replicate,
    phase,
    prompt_hash,
    status_recorded,
    reason_recorded,
    response_recorded as number_recorded,
    first_response as first_response_recorded,
    iterations,
    nullif(trim(response_text), '') as response_text,
    nullif(trim(first_text), '') as first_text,
    protocol,
    asked_at,
    finished_at,
    line
from source
