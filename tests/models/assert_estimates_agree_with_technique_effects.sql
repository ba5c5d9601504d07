-- Where a claim's specification is also a row of technique_effects, both give the same numbers.
{% set quantities = {
    'percent_of_baseline': 'percent_of_baseline',
    'median_percent_of_baseline': 'median_percent_of_baseline',
    'sd_percent_of_baseline': 'sd_percent_of_baseline',
    'skewness': 'skewness',
    'madb_percent': 'madb_percent',
    'percent_within_10_percent': '100 * share_within_10_percent',
    'percent_below_baseline': '100 * share_below_baseline',
} %}
with estimates as (
    select * from {{ ref('estimates') }}
    where
        quantity in ('{{ quantities | join("', '") }}')
        and excluded_llm is null and baseline_pooling = 'llm'
        and estimator = 'mean_of_ratios' and non_null = 'final'
        and (direction_weighting = 'trial' or anchor_direction != 'both')
),

-- the ledger speaks of domains; where a domain has several vignettes there is nothing to compare
effects as (
    select *, {{ numbers(quantities) }} from {{ ref('technique_effects') }}
    qualify count(distinct vignette) over (partition by study, domain) = 1
),

long as (
    select *, unnest(numbers) as number from effects
)

select estimates.*, long.number.value as value_of_effect
from estimates
left join long
    on
        estimates.quantity = long.number.quantity
        and estimates.study = long.study
        and estimates.domain = long.domain
        and estimates.technique = long.technique
        and estimates.llm is not distinct from long.llm
        and estimates.anchor_direction = long.anchor_direction
        and estimates.temperature_scope = long.temperature_scope
        and estimates.row_set = long.row_set
        and estimates.baseline_scope = long.baseline_scope
        and estimates.weighting = long.weighting
where long.number.value is null or abs(estimates.value - long.number.value) > 1e-9
