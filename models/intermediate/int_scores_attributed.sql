-- One row per scoring, variation, anchor, target and rule: the log-probability of the target after the whole prompt,
-- and what each field of the prompt contributes to it. The Banzhaf value is the mean over the 8 coalitions of the other
-- fields. The Shapley value is the mean over the sizes that these have, each size the mean over its 1, 3, 3 or 1
-- coalitions; the four add up to the whole prompt less the empty one. Null where a coalition was not scored.
with prompts as (
    select * from {{ ref('stg_scored_prompts') }}
),

scores as (
    select * from {{ ref('stg_target_scores') }}
),

joined as (
    select
        prompts.* exclude (scoring, prompt_hash),
        scores.*,
        [3, 1, 1, 3] as parts  -- twelfths, by how many other fields are there
    from prompts
    inner join scores using (scoring, prompt_hash)
),

attributed as (
    select
        study,
        batch_id,
        scoring,
        llm_recorded,
        revision,
        dtype,
        chat_template_hash,
        variation,
        anchor_direction,
        anchor,
        target,
        rule,
        max(prompt_hash) filter (where n_fields = 4) as prompt_hash,
        max(log_probability) filter (where n_fields = 4) as log_probability,
        max(log_probability) filter (where n_fields = 0) as log_probability_of_nothing,
        count(log_probability) as n_coalitions,
        sum(if(has_scene, 1, -1) * log_probability) / 8 as banzhaf_scene,
        sum(if(has_comparative, 1, -1) * log_probability) / 8 as banzhaf_comparative,
        sum(if(has_absolute, 1, -1) * log_probability) / 8 as banzhaf_absolute,
        sum(if(has_anchor, 1, -1) * log_probability) / 8 as banzhaf_anchor,
        sum(if(has_scene, parts[n_fields], -parts[n_fields + 1]) * log_probability) / 12 as shapley_scene,
        sum(if(has_comparative, parts[n_fields], -parts[n_fields + 1]) * log_probability) / 12 as shapley_comparative,
        sum(if(has_absolute, parts[n_fields], -parts[n_fields + 1]) * log_probability) / 12 as shapley_absolute,
        sum(if(has_anchor, parts[n_fields], -parts[n_fields + 1]) * log_probability) / 12 as shapley_anchor
    from joined
    group by all
)

select
    study,
    batch_id,
    scoring,
    llm_recorded,
    revision,
    dtype,
    chat_template_hash,
    variation,
    anchor_direction,
    anchor,
    target,
    rule,
    prompt_hash,
    log_probability,
    log_probability_of_nothing,
    n_coalitions,
    case when n_coalitions = 16 then banzhaf_scene end as banzhaf_scene,
    case when n_coalitions = 16 then banzhaf_comparative end as banzhaf_comparative,
    case when n_coalitions = 16 then banzhaf_absolute end as banzhaf_absolute,
    case when n_coalitions = 16 then banzhaf_anchor end as banzhaf_anchor,
    case when n_coalitions = 16 then shapley_scene end as shapley_scene,
    case when n_coalitions = 16 then shapley_comparative end as shapley_comparative,
    case when n_coalitions = 16 then shapley_absolute end as shapley_absolute,
    case when n_coalitions = 16 then shapley_anchor end as shapley_anchor
from attributed
