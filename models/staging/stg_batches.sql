-- One row per batch: what one load brought of one study and vignette, of recorded trials of one LLM, and what the study
-- said of that vignette, with the versions of its words.
select
    * exclude (content, _dlt_load_id) replace (nullif(definition::varchar, 'null')::json as definition),
    map_from_entries(
        from_json(definition -> '$.vignettes', '[{"vignette": "varchar", "version": "bigint"}]')
    )[vignette] as vignette_version,
    map_from_entries(
        from_json(definition -> '$.techniques', '[{"technique": "varchar", "version": "bigint"}]')
    ) as technique_versions
from {{ source('raw', 'batches') }}
