-- One row per quantity, study, llm, variation (null: over all), anchor direction (null: both together) and
-- specification (`method`): what recorded scores say. Scores that were computed here are nobody's published ones.
{% set of_llms = 'study, llm, specification as method' %}
{% set of_variations = of_llms ~ ', variation' %}
with recorded as (
    select distinct scoring from {{ ref('stg_attribution_scores') }}
),

expectations as (
    select * from {{ ref('soft_expectations') }}
    semi join recorded using (scoring)
),

effects as (
    select * from {{ ref('anchor_effects') }}
    semi join recorded using (scoring)
),

scores as (
    select * from {{ ref('sensitivity_scores') }}
    semi join recorded using (scoring)
),

means as (
    select * from {{ ref('anchor_sensitivities') }}
    semi join scores using (scoring_set)
),

together as (
    select
        {{ of_variations }}, anchor_direction,
        {{ numbers({'soft_ev': 'soft_ev', 'soft_ev_band_low': 'band_low', 'soft_ev_band_high': 'band_high'}) }}
    from expectations
    union all by name
    -- where targets flip in blocks, these flips stand in for the other tests
    select
        {{ of_variations }},
        {{ numbers({
            'delta_ev': 'delta_ev',
            'delta_attribution': 'delta_attribution',
            'multiplier': 'multiplier',
            'sign_behaviour': 'sign(delta_ev)',
            'sign_attribution': 'sign(delta_attribution)',
            'stars_behaviour': 'length(stars_behaviour)',
            'stars_wilcoxon': 'length(coalesce(stars_wilcoxon, stars_permutation))',
            'stars_permutation': 'length(stars_permutation)',
            'stars_attribution': 'length(stars_attribution)',
        }) }}
    from effects
    union all by name
    select {{ of_variations }}, {{ numbers(['abss']) }} from scores
    union all by name
    select {{ of_llms }}, {{ numbers({'mean_{metric}': ('estimate', 'low', 'high')}) }} from means
),

unnested as (
    select *, unnest(numbers) as number from together
)

select
    unnested.number.quantity,
    unnested.study,
    unnested.llm,
    null::varchar as llm_b,
    unnested.variation,
    unnested.anchor_direction,
    unnested.method,
    unnested.number.value,
    unnested.number.low,
    unnested.number.high,
    1 as n_llms
from unnested
