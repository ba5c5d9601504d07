-- One row per article of the news set.
with source as (
    select * from {{ source('raw', 'news') }}
)

select
    article_id,
    url,
    domain,
    source,
    author,
    title,
    api_description,
    published_at,
    keyword,
    language,
    found_in,
    fetched_at
from source
