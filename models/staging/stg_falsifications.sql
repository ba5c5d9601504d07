-- One row per falsified text of an article.
with source as (
    select * from {{ source('raw', 'falsifications') }}
)

select
    falsification_id,
    article_id,
    falsified_description,
    made_by,
    ordinal
from source
