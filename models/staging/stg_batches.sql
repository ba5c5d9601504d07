-- One row per batch: what one load brought of one study and vignette, and what the study said of that vignette.
with source as (
    select * from {{ source('raw', 'batches') }}
)

select
    batch_id,
    study,
    vignette,
    source,
    domain,
    response_unit,
    valid_min,
    valid_max,
    n_trials,
    nullif(definition::varchar, 'null')::json as definition,
    loaded_at,
    version_id
from source
