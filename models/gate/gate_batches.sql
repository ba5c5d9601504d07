-- One row per batch that an audit looks at, with what its study declares: the audited ones (`is_new`), and what they
-- are compared with, the published ones of that version of their study's vignette that were loaded before or with them.
with defined as (
    select
        audited.*,
        true as is_new,
        -- an archive declares nothing
        case when batches.source != 'recorded' then batches.definition end as declared,
        coalesce(batches.vignette_version, 1) as vignette_version,
        batches.technique_versions,
        batches.llm_recorded,
        list_filter(
            from_json(batches.definition -> '$.vignettes', '["json"]'),
            lambda entry: (entry ->> '$.vignette') = audited.vignette
        )[1] as entry,
        from_json(batches.definition -> '$.techniques', '[{"technique": "varchar"}]') as techniques_declared,
        coalesce(entry -> '$.anchors', declared -> '$.anchors') as anchors,
        -- what one load brought of a vignette is declared alike
        row_number() over (
            partition by audited.study, audited.vignette order by audited.ordinal desc, audited.batch_id desc
        ) = 1 as is_last
    from {{ source('gate', 'audited_batches') }} as audited
    left join {{ ref('stg_batches') }} as batches using (batch_id)
),

looked_at as (
    select * from defined
    union all
    select
        defined.*
        replace (
            batches.batch_id as batch_id,
            batches.technique_versions as technique_versions,
            batches.llm_recorded as llm_recorded,
            false as is_new
        )
    from {{ ref('stg_batches') }} as batches
    semi join {{ ref('stg_batch_verdicts') }} as verdicts
        on batches.batch_id = verdicts.batch_id and verdicts.is_published
    anti join {{ source('gate', 'audited_batches') }} as audited on batches.batch_id = audited.batch_id
    inner join defined
        on
            defined.is_last and batches.study = defined.study and batches.vignette = defined.vignette
            and coalesce(batches.vignette_version, 1) = defined.vignette_version
            and (
                (batches.ordinal, batches.batch_id) < (defined.ordinal, defined.batch_id)
                or batches.loaded_at = defined.loaded_at
            )
)

select
    batch_id, study, vignette, llm_recorded, loaded_at, is_new, technique_versions, declared is null as is_archive,
    case
        when (anchors -> '$.fixed') is not null then 'fixed'
        when (anchors -> '$.columns') is not null then 'columns'
        when declared is not null then 'proportional'
    end as rule,
    coalesce(anchors -> '$.fixed', anchors -> '$.proportional') as ends,
    -- an archive's factors are what it really asked; they bind less than a declared rule
    coalesce((ends ->> '$.low')::double, anchor_factors.low) as rule_low,
    coalesce((ends ->> '$.high')::double, anchor_factors.high) as rule_high,
    (declared ->> '$.stopping_rule.minimum')::bigint as minimum,
    -- an LLM on this machine answers under its own name, whatever its folder is called
    map_from_entries(
        list_transform(
            from_json(declared -> '$.llms', '[{"llm": "varchar", "model": "varchar", "provider": "varchar"}]'),
            lambda asked: struct_pack(
                llm := asked['llm'],
                model := case when coalesce(asked['provider'], '') != 'local' then asked['model'] end
            )
        )
    ) as models,
    list_transform(techniques_declared, lambda declared_one: declared_one['technique']) as techniques,
    if(entry is null, vignettes.case_numbers, concat(entry ->> '$.case', ' ', entry ->> '$.question')) as case_text,
    {{ numbers_in("case_text") }} as written_numbers,
    -- an answer in thousands repeats `$130,000` as 130
    case
        when units.response_unit like 'thousand%'
            then list_concat(
                    written_numbers,
                    list_transform(
                        list_filter(written_numbers, lambda written: written >= 1000), lambda written: written / 1000
                    )
                )
        else written_numbers
    end as case_numbers
from looked_at
left join {{ ref('vignettes') }} as vignettes using (study, vignette)
left join {{ ref('int_vignettes_defined') }} as units using (study, vignette)
left join {{ ref('anchor_factors') }} as anchor_factors using (study, vignette)
