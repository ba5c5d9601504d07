-- noqa: disable=LT02
-- Where a claim's specification is also a row of technique_effects, both give the same numbers.
{% set keys = [
    'study', 'domain', 'technique', 'llm', 'anchor_direction', 'temperature_scope', 'row_set', 'baseline_scope', 'weighting',
] %}
{% set quantities = {
    'percent_of_baseline': 'effects.percent_of_baseline',
    'median_percent_of_baseline': 'effects.median_percent_of_baseline',
    'sd_percent_of_baseline': 'effects.sd_percent_of_baseline',
    'skewness': 'effects.skewness',
    'madb_percent': 'effects.madb_percent',
    'percent_within_10_percent': '100 * effects.share_within_10_percent',
    'percent_below_baseline': '100 * effects.share_below_baseline',
} %}
with effects_on_claims as (
    select * from {{ ref('int_claim_effects') }}
    where
        excluded_llm is null and baseline_pooling = 'llm' and estimator = 'mean_of_ratios' and non_null = 'final'
        and (direction_weighting = 'trial' or anchor_direction != 'both') and percent_of_baseline is not null
),

-- the ledger speaks of domains; where a domain has several vignettes there is nothing to compare
effects as (
    select * from {{ ref('technique_effects') }}
    qualify count(distinct vignette) over (partition by study, domain) = 1
)

select claimed.* from effects_on_claims as claimed
left join effects on {{ same_in('claimed', 'effects', keys) }}
where
    effects.study is null
    {% for name, value in quantities.items() -%}
        or claimed.{{ name }} is not null and coalesce(abs(claimed.{{ name }} - {{ value }}) > 1e-9, true)
    {% endfor %}
