-- One row per study, scoring, llm, variation, anchor direction, anchor, field and target: what the field of the prompt
-- adds to the log-probability of the target.
with scores as (
    select * from {{ ref('int_scores_accepted') }}
),

contributed as (
    select
        study,
        scoring_set,
        scoring,
        llm,
        variation,
        question,
        anchor_regime,
        anchor_direction,
        anchor,
        target,
        unnest([
            struct_pack(field := 'scene', banzhaf := banzhaf_scene, shapley := shapley_scene),
            struct_pack(field := 'comparative', banzhaf := banzhaf_comparative, shapley := shapley_comparative),
            struct_pack(field := 'absolute', banzhaf := banzhaf_absolute, shapley := shapley_absolute),
            struct_pack(field := 'anchor', banzhaf := banzhaf_anchor, shapley := shapley_anchor)
        ]) as contribution
    from scores
)

select
    * exclude (contribution, target),
    contribution['field'] as field,
    target,
    contribution['banzhaf'] as banzhaf,
    contribution['shapley'] as shapley,
    {{ reasons([('banzhaf is null', 'no_attribution'), ('shapley is null', 'not_recoverable')]) }} as reason
from contributed
