-- One row per study of people, participant and pair of products.
select * exclude (key_check, _dlt_load_id) from {{ source('raw', 'human_choices') }}
