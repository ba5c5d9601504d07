-- One row per study and item: what is known of a text or case that is put into vignettes, as it was stated last.
select * exclude (stated_at, ordinal, _dlt_load_id) from {{ source('raw', 'items') }}
qualify row_number() over (partition by study, item order by ordinal desc) = 1
