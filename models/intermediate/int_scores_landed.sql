-- One row per score that was landed, whether recorded elsewhere or computed here. What bais scored it scored by two
-- rules: `log_probability` is by that of document D, so that both can be compared; the aligned one stands beside it. A
-- question in a chat is another `prompt`.
with aligned as (
    select
        scoring,
        variation,
        anchor,
        target,
        log_probability as aligned_log_probability,
        log_probability_without_anchor as aligned_log_probability_without_anchor,
        banzhaf_anchor as aligned_banzhaf_anchor
    from {{ ref('int_scores_attributed') }}
    where rule = 'aligned'
),

computed as (
    select
        concat_ws('/', scoring, variation, anchor, target) as score_id,
        concat_ws('/', scoring, variation) as record_id,
        attributed.* exclude (
            revision, chat_template_hash, anchor_direction, rule, log_probability_of_nothing, n_coalitions
        ),
        scoring as source_file,
        split_part(variation, '-', 1) as question,
        concat_ws('/', study, question, anchor, chat_template_hash) as prompt,
        aligned_log_probability,
        aligned_log_probability_without_anchor,
        aligned_banzhaf_anchor,
        'scores' as evidence_from,
        -- whoever asks questions of their own names the regime as document D's variations do
        case
            when variation like '%-S' then 'standard'
            when variation like '%-D' then 'different_anchors'
        end as anchor_regime
    from {{ ref('int_scores_attributed') }} as attributed
    left join aligned using (scoring, variation, anchor, target)
    where attributed.rule = 'published'
)

select * from {{ ref('stg_attribution_scores') }}
union all by name
select * from computed
