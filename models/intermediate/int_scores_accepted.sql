-- One row per scoring, variation, anchor and target that is published and not quarantined: what its source says now;
-- of a question that several files hold, that of the standard anchors; with the LLM under its canonical id.
with flags as (
    select trial_id as score_id, batch_id from {{ ref('stg_flagged_trials') }}
    where is_quarantined
),

withdrawn as (
    select trial_id as score_id from {{ ref('stg_withdrawn_trials') }}
),

held as (
    select
        scores.* exclude (batch_id),
        versions.batch_id,
        coalesce(aliases.llm, scores.llm_recorded) as llm,
        concat_ws('/', sources.source_name, scores.llm_recorded) as scoring_set
    from {{ ref('int_scores_landed') }} as scores
    inner join {{ ref('int_versions_resolved') }} as versions
        on scores.record_id = versions.trial_id and versions.is_held
    semi join {{ ref('stg_batch_verdicts') }} as verdicts
        on versions.batch_id = verdicts.batch_id and verdicts.is_published
    left join {{ ref('stg_batches') }} as batches on scores.batch_id = batches.batch_id
    left join {{ source('raw', 'source_versions') }} as sources using (version_id)
    left join {{ ref('llm_aliases') }} as aliases on scores.llm_recorded = aliases.alias
),

-- the standard file and the one of other anchors both hold V0
of_one_scoring as (
    select * from held
    qualify
        dense_rank() over (
            partition by study, scoring_set, variation order by anchor_regime != 'standard', scoring
        ) = 1
),

directed as (
    select
        *,
        case anchor
            when min(anchor) over one_variation then 'low'
            when max(anchor) over one_variation then 'high'
            else 'between'
        end as anchor_direction
    from of_one_scoring
    window one_variation as (partition by study, scoring, variation)
)

select
    directed.study,
    directed.scoring_set,
    directed.scoring,
    directed.llm,
    directed.variation,
    directed.question,
    directed.evidence_from,
    directed.anchor_regime,
    directed.anchor_direction,
    directed.anchor,
    directed.target,
    directed.log_probability,
    directed.log_probability_without_anchor,
    directed.banzhaf_scene,
    directed.banzhaf_comparative,
    directed.banzhaf_absolute,
    directed.banzhaf_anchor,
    directed.shapley_scene,
    directed.shapley_comparative,
    directed.shapley_absolute,
    directed.shapley_anchor,
    directed.aligned_log_probability,
    directed.aligned_log_probability_without_anchor,
    directed.aligned_banzhaf_anchor,
    directed.score_id,
    directed.batch_id
from directed
anti join flags using (score_id, batch_id)
anti join withdrawn using (score_id)
