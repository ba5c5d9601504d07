-- One row per article of the news set.
select * exclude (study, api_content, ordinal, _dlt_load_id) from {{ source('raw', 'news') }}
