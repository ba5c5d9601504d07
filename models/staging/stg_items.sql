-- One row per study and item: what is known of a text or case that is put into vignettes, as it was stated last.
with source as (
    select * from {{ source('raw', 'items') }}
)

select
    study,
    item,
    fields,
    text_hash,
    pair,
    is_true,
    correct,
    published_at,
    rating,
    source,
    licence
from source
qualify row_number() over (partition by study, item order by ordinal desc) = 1
