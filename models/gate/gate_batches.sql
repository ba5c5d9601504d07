-- One row per batch that an audit looks at, with what its study declares: the audited ones (`is_new`), and what they
-- are compared with, the published ones of that version of their study's vignette that were loaded before them.
with audited as (
    select batch_id, study, vignette, loaded_at from {{ source('gate', 'audited_batches') }}
),

batches as (
    select * from {{ ref('stg_batches') }}
),

published as (
    select batch_id from {{ ref('stg_batch_verdicts') }}
    where is_published
),

vignettes as (
    select study, vignette, case_numbers as said from {{ ref('vignettes') }}
),

defined as (
    select
        audited.*,
        true as is_new,
        -- an archive declares nothing
        case when batches.source != 'recorded' then batches.definition end as declared,
        coalesce(batches.vignette_version, 1) as vignette_version,
        list_filter(
            from_json(batches.definition -> '$.vignettes', '["json"]'),
            lambda entry: (entry ->> '$.vignette') = audited.vignette
        )[1] as entry,
        coalesce(entry -> '$.anchors', declared -> '$.anchors') as anchors
    from audited
    left join batches using (batch_id)
),

looked_at as (
    select * from defined
    union all
    select defined.* replace (batches.batch_id as batch_id, false as is_new) from batches
    semi join published using (batch_id)
    inner join defined
        on
            batches.study = defined.study and batches.vignette = defined.vignette
            and coalesce(batches.vignette_version, 1) = defined.vignette_version
            and (batches.loaded_at, batches.batch_id) < (defined.loaded_at, defined.batch_id)
)

select
    batch_id,
    study,
    vignette,
    loaded_at,
    is_new,
    declared is null as is_archive,
    case
        when (anchors -> '$.fixed') is not null then 'fixed'
        when declared is not null then 'proportional'
    end as rule,
    coalesce(anchors -> '$.fixed', anchors -> '$.proportional') as ends,
    (ends ->> '$.low')::double as rule_low,
    (ends ->> '$.high')::double as rule_high,
    (declared ->> '$.stopping_rule.minimum')::bigint as minimum,
    map_from_entries(from_json(declared -> '$.llms', '[{"llm": "varchar", "model": "varchar"}]')) as models,
    -- in a case text also `12th` is a number, and no piece of `2,400`
    case
        when entry is null then regexp_extract_all(said, '\S+')
        else regexp_extract_all(
                concat(entry ->> '$.case', ' ', entry ->> '$.question'), '(?:^|[^\pL\pN_.,])(\d+(?:\.\d+)?)', 1
            )
    end::double[] as case_numbers
from looked_at
left join vignettes using (study, vignette)
