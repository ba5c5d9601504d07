-- One row per batch: what one load brought of one study and vignette, and what the study said of that vignette, with
-- the versions of its words.
select
    batch_id,
    study,
    vignette,
    source,
    domain,
    response_unit,
    valid_min,
    valid_max,
    n_trials,
    nullif(definition::varchar, 'null')::json as definition,
    map_from_entries(
        from_json(definition -> '$.vignettes', '[{"vignette": "varchar", "version": "bigint"}]')
    )[vignette] as vignette_version,
    map_from_entries(
        from_json(definition -> '$.techniques', '[{"technique": "varchar", "version": "bigint"}]')
    ) as technique_versions,
    loaded_at,
    ordinal,
    version_id
from {{ source('raw', 'batches') }}
