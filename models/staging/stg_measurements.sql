-- One row per trial, measure and instrument: what an instrument measured of the text of an answer.
with source as (
    select * from {{ source('raw', 'measurements') }}
)

select
    study,
    trial_id,
    measure,
    instrument,
    value,
    reason
from source
