-- One row per scoring, variation, anchor and target that is published and not quarantined: what its source says now;
-- of a question that several files hold, that of the standard anchors; with the LLM under its canonical id.
with scores as (
    select * from {{ ref('int_scores_landed') }}
),

versions as (
    select * from {{ ref('int_versions_resolved') }}
    where is_held
),

batches as (
    select batch_id, version_id from {{ ref('stg_batches') }}
),

sources as (
    select version_id, source_name from {{ source('raw', 'source_versions') }}
),

published as (
    select batch_id from {{ ref('stg_batch_verdicts') }}
    where is_published
),

flags as (
    select trial_id as score_id, batch_id from {{ ref('stg_flagged_trials') }}
    where is_quarantined
),

withdrawn as (
    select trial_id as score_id from {{ ref('stg_withdrawn_trials') }}
),

aliases as (
    select alias, llm from {{ ref('llm_aliases') }}
),

held as (
    select
        scores.* exclude (batch_id),
        versions.batch_id,
        coalesce(aliases.llm, scores.llm_recorded) as llm,
        concat_ws('/', sources.source_name, scores.llm_recorded) as scoring_set
    from scores
    inner join versions on scores.record_id = versions.trial_id
    semi join published on versions.batch_id = published.batch_id
    left join batches on scores.batch_id = batches.batch_id
    left join sources using (version_id)
    left join aliases on scores.llm_recorded = aliases.alias
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
        min(anchor) over (partition by study, scoring, variation) as lowest,
        max(anchor) over (partition by study, scoring, variation) as highest
    from of_one_scoring
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
    case
        when directed.anchor = directed.lowest then 'low'
        when directed.anchor = directed.highest then 'high'
        else 'between'
    end as anchor_direction,
    directed.anchor,
    directed.target,
    directed.log_probability,
    directed.banzhaf_anchor,
    directed.shapley_anchor,
    directed.aligned_log_probability,
    directed.aligned_banzhaf_anchor,
    directed.score_id,
    directed.batch_id
from directed
anti join flags using (score_id, batch_id)
anti join withdrawn using (score_id)
