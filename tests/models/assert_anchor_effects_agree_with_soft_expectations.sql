-- The difference of expectations is that of the two rows of soft_expectations by the same rule of scoring, under every
-- specification, and the sum of an ABSS is that of its parts.
with expectations as (
    select * from {{ ref('soft_expectations') }}
    where specification in ('published', 'aligned')
),

differences as (
    select
        study,
        scoring,
        variation,
        specification as rule,
        max(soft_ev) filter (where anchor_direction = 'high')
        - max(soft_ev) filter (where anchor_direction = 'low') as difference
    from expectations
    group by all
),

effects as (
    select *, if(specification = 'aligned', 'aligned', 'published') as rule
    from {{ ref('anchor_effects') }}
)

select
    study,
    scoring,
    variation,
    specification
from effects
inner join {{ ref('sensitivity_scores') }} using (study, scoring, llm, variation, specification)
inner join differences using (study, scoring, variation, rule)
where
    abs(delta_ev - difference) > 1e-9
    or (delta_ev is null) != (difference is null)
    or abs(behaviour - delta_ev / 100) > 1e-12
    or abs(
        abss - 0.15 * concordance
        - robustness * (behaviour * weight_behaviour + attribution * weight_attribution)
    ) > 1e-12
