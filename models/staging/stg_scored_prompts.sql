-- One row per scoring, variation, anchor and coalition of the fields of a prompt: which prompt was scored for it.
with defined as (
    select
        batch_id,
        definition ->> '$.scoring' as scoring,
        definition ->> '$.variation' as variation,
        unnest(
            from_json(
                definition -> '$.cells',
                '[{"anchor": "double", "anchor_direction": "varchar", "fields": ["varchar"], "prompt_hash": "varchar"}]'
            )
        ) as cell
    from {{ source('raw', 'batches') }}
    where source = 'scored' and json_exists(definition, '$.cells')
)

select
    batch_id,
    scoring,
    variation,
    cell['anchor'] as anchor,
    cell['anchor_direction'] as anchor_direction,
    list_contains(cell['fields'], 'scene') as has_scene,
    list_contains(cell['fields'], 'comparative') as has_comparative,
    list_contains(cell['fields'], 'absolute') as has_absolute,
    list_contains(cell['fields'], 'anchor') as has_anchor,
    len(cell['fields']) as n_fields,
    cell['prompt_hash'] as prompt_hash
from defined
