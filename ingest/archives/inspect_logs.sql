-- Samples of Inspect. The metadata of its dataset has `vignette`, `technique`, `direction` and `anchor`, and where no seed
-- declares a vignette, `domain`, `response_unit`, `valid_min` and `valid_max`.
select
    filename,
    concat_ws('/', record ->> '$.eval_id', record ->> '$.id', record ->> '$.epoch') as own_id,
    record ->> '$.model' as llm,
    record ->> '$.metadata_vignette' as vignette,
    coalesce(record ->> '$.metadata_technique', 'no_technique') as technique,
    coalesce(record ->> '$.metadata_direction', 'none') as anchor_direction,
    record ->> '$.metadata_anchor' as anchor_value,
    record ->> '$.model_generate_config.temperature' as temperature,
    record ->> '$.epoch' as replicate,
    record ->> '$.completion' as text,
    record ->> '$.input' as prompt,
    record ->> '$.created' as asked_at,
    record ->> '$.error' as error,
    record ->> '$.metadata_domain' as domain,
    record ->> '$.metadata_response_unit' as response_unit,
    record ->> '$.metadata_valid_min' as valid_min,
    record ->> '$.metadata_valid_max' as valid_max
from source
