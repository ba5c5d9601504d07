-- One row per quantity, study, llm, llm that it is compared with (null: none), variation (null: over all), anchor
-- direction (null: both together) and specification (`method`): what recorded scores say. Scores that were computed
-- here are nobody's published ones.
{% set keys = 'study, llm, specification as method' %}
with landed as (
    select distinct scoring, batch_id from {{ ref('stg_attribution_scores') }}
),

-- of an LLM that several sources hold, the source that was imported first
recorded as (
    select expectations.study, expectations.llm, arg_min(expectations.scoring_set, batches.ordinal) as scoring_set
    from {{ ref('soft_expectations') }} as expectations
    inner join landed using (scoring)
    inner join {{ ref('stg_batches') }} as batches using (batch_id)
    group by all
),

expectations as (
    select * from {{ ref('soft_expectations') }}
    semi join recorded using (study, llm, scoring_set)
),

effects as (
    select * from {{ ref('anchor_effects') }}
    semi join recorded using (study, llm, scoring_set)
),

scores as (
    select * from {{ ref('sensitivity_scores') }}
    semi join recorded using (study, llm, scoring_set)
),

contrasts as (
    select
        contrasts.*,
        case comparison
            when 'anchors' then 'mean' when 'llms' then 'difference' when 'regimes' then 'difference_of_regimes'
        end as contrast
    from {{ ref('anchor_sensitivities') }} as contrasts
    semi join recorded on contrasts.study = recorded.study and contrasts.scoring_set = recorded.scoring_set
    semi join recorded as others
        on
            contrasts.study = others.study
            and coalesce(contrasts.scoring_set_b, contrasts.scoring_set) = others.scoring_set
),

together as (
    select
        {{ keys }}, variation, anchor_direction,
        {{ numbers({'soft_ev': 'soft_ev', 'soft_ev_band_low': 'band_low', 'soft_ev_band_high': 'band_high'}) }}
    from expectations
    union all by name
    -- where targets flip in blocks, these flips stand in for the other tests
    select
        {{ keys }}, variation,
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
    select {{ keys }}, variation, {{ numbers(['abss']) }} from scores
    union all by name
    select {{ keys }}, llm_b, {{ numbers({'{metric}_{contrast}': ('estimate', 'low', 'high')}) }} from contrasts
)

select * exclude (numbers), unnest(numbers, recursive := true), 1 as n_llms from together  -- noqa: AL03
