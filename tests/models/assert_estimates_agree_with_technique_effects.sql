-- Where a claim's specification is also a row of technique_effects, both give the same number.
with estimates as (
    select * from {{ ref('estimates') }}
    where
        quantity = 'percent_of_baseline' and excluded_llm is null and baseline_pooling = 'llm'
        and estimator = 'mean_of_ratios' and non_null = 'final'
        and (direction_weighting = 'trial' or anchor_direction != 'both')
),

-- the ledger speaks of domains; where a domain has several vignettes there is nothing to compare
effects as (
    select * from {{ ref('technique_effects') }}
    qualify count(distinct vignette) over (partition by study, domain) = 1
)

select estimates.*, effects.percent_of_baseline
from estimates
left join effects
    on
        estimates.study = effects.study
        and estimates.domain = effects.domain
        and estimates.technique = effects.technique
        and estimates.llm is not distinct from effects.llm
        and estimates.anchor_direction = effects.anchor_direction
        and estimates.temperature_scope = effects.temperature_scope
        and estimates.row_set = effects.row_set
        and estimates.baseline_scope = effects.baseline_scope
        and estimates.weighting = effects.weighting
where effects.percent_of_baseline is null or abs(estimates.value - effects.percent_of_baseline) > 1e-9
