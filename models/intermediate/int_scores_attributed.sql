-- One row per scoring, variation, anchor, target and rule: the log-probability of the target after the whole prompt,
-- and what each field of the prompt contributes to it. The Banzhaf value is the mean over the 8 coalitions of the other
-- fields. The Shapley value is the mean over the sizes that these have, each size the mean over its 1, 3, 3 or 1
-- coalitions; the four add up to the whole prompt less the empty one. Null where a coalition was not scored.
with joined as (
    select
        prompts.* exclude (scoring, prompt_hash),
        scores.*,
        [3, 1, 1, 3] as parts  -- twelfths, by how many other fields are there
    from {{ ref('stg_scored_prompts') }} as prompts
    inner join {{ ref('stg_target_scores') }} as scores using (scoring, prompt_hash)
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
    max(prompt_hash) filter (where n_fields = 4) as prompt_hash,
    max(log_probability) filter (where n_fields = 4) as log_probability,
    max(log_probability) filter (where n_fields = 3 and not has_anchor) as log_probability_without_anchor,
    count(log_probability) as n_coalitions,
    {%- for field in ['scene', 'comparative', 'absolute', 'anchor'] %}
    case when n_coalitions = 16 then sum(if(has_{{ field }}, 1, -1) * log_probability) / 8 end as banzhaf_{{ field }},
    case
        when n_coalitions = 16
            then sum(if(has_{{ field }}, parts[n_fields], -parts[n_fields + 1]) * log_probability) / 12
    end as shapley_{{ field }},
    {%- endfor %}
    max(log_probability) filter (where n_fields = 0) as log_probability_of_nothing
from joined
group by all
