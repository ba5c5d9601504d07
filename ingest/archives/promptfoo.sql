-- Results of promptfoo, as lines or as one document. Its tests have the variables `vignette`, `technique`, `direction`,
-- `anchor` and `temperature`, and where no seed declares a vignette, `domain`, `response_unit`, `valid_min`, `valid_max`.
with documents as (
    select
        filename,
        record,
        coalesce(record ->> '$.evalId', record ->> '$.results.evalId') as evaluation,
        coalesce(record ->> '$.timestamp', record ->> '$.results.timestamp') as evaluated_at
    from source
),

results as (
    select
        * exclude (record),
        unnest(case
            when json_exists(record, '$.promptIdx') then [record]
            when json_type(record, '$.results') = 'ARRAY' then record -> '$.results[*]'
            else record -> '$.results.results[*]'
        end) as result
    from documents
)

select
    filename,
    result ->> '$.id' as own_id,
    coalesce(evaluation, result ->> '$.evalId') as source_name,
    coalesce(result ->> '$.provider.id', result ->> '$.provider') as llm,
    result ->> '$.vars.vignette' as vignette,
    coalesce(result ->> '$.vars.technique', 'no_technique') as technique,
    coalesce(
        result ->> '$.vars.direction', case when result ->> '$.vars.anchor' is null then 'none' end
    ) as anchor_direction,
    result ->> '$.vars.anchor' as anchor_value,
    result ->> '$.vars.temperature' as temperature,
    result ->> '$.response.output' as text,
    result ->> '$.response.tokenUsage.completion' as tokens,
    result ->> '$.cost' as cost,
    result ->> '$.prompt.raw' as prompt,
    coalesce(result ->> '$.evaluation.timestamp', evaluated_at) as asked_at,
    result ->> '$.error' as error,
    result ->> '$.vars.domain' as domain,
    result ->> '$.vars.response_unit' as response_unit,
    result ->> '$.vars.valid_min' as valid_min,
    result ->> '$.vars.valid_max' as valid_max
from results
