-- One row per batch that an audit looks at, with what its study declares: the audited ones (`is_new`), and what they
-- are compared with, the published ones of their study and vignette that were loaded before them.
with audited as (
    select * from {{ source('gate', 'audited_batches') }}
),

batches as (
    select * from {{ ref('stg_batches') }}
),

published as (
    select batch_id from {{ ref('stg_batch_verdicts') }}
    where is_published
),

vignettes as (
    select study, vignette, case_numbers from {{ ref('vignettes') }}
),

-- an archive declares nothing
defined as (
    select
        audited.*,
        case when batches.source != 'recorded' then batches.definition end as definition,
        list_filter(
            from_json(batches.definition -> '$.vignettes', '["json"]'),
            lambda entry: (entry ->> '$.vignette') = audited.vignette
        )[1] as entry
    from audited
    left join batches using (batch_id)
),

ruled as (
    select
        *,
        coalesce(entry -> '$.anchors', definition -> '$.anchors') as rule_declared,
        from_json(definition -> '$.llms', '[{"llm": "varchar", "model": "varchar"}]') as llms_declared
    from defined
),

declared as (
    select
        ruled.batch_id,
        ruled.study,
        ruled.vignette,
        ruled.loaded_at,
        ruled.definition is null as is_archive,
        case
            when (ruled.rule_declared -> '$.fixed') is not null then 'fixed'
            when ruled.definition is not null then 'proportional'
        end as rule,
        coalesce(ruled.rule_declared -> '$.fixed', ruled.rule_declared -> '$.proportional') as ends,
        (ruled.definition ->> '$.stopping_rule.minimum')::bigint as minimum,
        list_transform(ruled.llms_declared, lambda asked: asked['llm']) as llms,
        map_from_entries(
            list_transform(ruled.llms_declared, lambda asked: { 'key': asked['llm'], 'value': asked['model'] })
        ) as models,
        -- in a case text also `12th` is a number, and no piece of `2,400`
        case
            when ruled.entry is null
                then list_transform(regexp_extract_all(vignettes.case_numbers, '\S+'), lambda said: said::double)
            else list_transform(
                    regexp_extract_all(
                        concat(ruled.entry ->> '$.case', ' ', ruled.entry ->> '$.question'),
                        '(?:^|[^\pL\pN_.,])(\d+(?:\.\d+)?)',
                        1
                    ),
                    lambda said: said::double
                )
        end as case_numbers
    from ruled
    left join vignettes using (study, vignette)
),

earlier as (
    select
        batches.batch_id,
        declared.* exclude (batch_id),
        false as is_new
    from batches
    semi join published using (batch_id)
    inner join declared
        on
            batches.study = declared.study and batches.vignette = declared.vignette
            and (batches.loaded_at, batches.batch_id) < (declared.loaded_at, declared.batch_id)
),

looked_at as (
    select *, true as is_new from declared
    union all by name
    select * from earlier
)

select
    * exclude (ends),
    (ends ->> '$.low')::double as rule_low,
    (ends ->> '$.high')::double as rule_high
from looked_at
