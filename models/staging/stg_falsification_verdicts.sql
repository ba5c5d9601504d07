-- One row per falsified text and person who validated it: what that person stated last.
with source as (
    select * from {{ source('raw', 'falsification_verdicts') }}
)

select
    falsification_id,
    validator,
    is_negation,
    ordinal
from source
qualify row_number() over (partition by falsification_id, validator order by ordinal desc) = 1
