-- One row per score that was landed, whether recorded elsewhere or computed here; of what bais scored, by the rule
-- under which document D scored, so that both can be compared. A question in a chat is another `prompt`.
with recorded as (
    select * from {{ ref('stg_attribution_scores') }}
),

attributed as (
    select * from {{ ref('int_scores_attributed') }}
    where rule = 'published'
),

computed as (
    select
        concat_ws('/', scoring, variation, anchor, target) as score_id,
        concat_ws('/', scoring, variation) as record_id,
        study,
        batch_id,
        scoring as source_file,
        scoring,
        llm_recorded,
        split_part(variation, '-', 1) as question,
        variation,
        concat_ws('/', study, question, anchor, chat_template_hash) as prompt,
        prompt_hash,
        dtype,
        anchor,
        target,
        log_probability,
        banzhaf_scene,
        banzhaf_comparative,
        banzhaf_absolute,
        banzhaf_anchor,
        shapley_anchor,
        'scores' as evidence_from
    from attributed
)

select * from recorded
union all by name
select * from computed
