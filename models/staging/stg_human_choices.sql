-- One row per study of people, participant and pair of products.
select
    study,
    participant,
    pair,
    product,
    format,
    condition,
    target,
    chosen,
    price,
    willingness_to_pay,
    excluded
from {{ source('raw', 'human_choices') }}
