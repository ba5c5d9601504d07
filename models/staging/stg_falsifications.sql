-- One row per falsified text of an article.
select * exclude (study, stated_at, _dlt_load_id) from {{ source('raw', 'falsifications') }}
