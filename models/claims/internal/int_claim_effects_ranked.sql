-- noqa: disable=LT02
-- One row as in int_claim_effects, with the ranks of techniques that share a specification, llm and direction.
{% set within %}
    study, domain, excluded_llm, temperature_scope, row_set, baseline_scope, weighting, direction_weighting,
    baseline_pooling, estimator, non_null, llm, anchor_direction
{% endset %}
with effects as (
    select * from {{ ref('int_claim_effects') }}
),

ranked as (
    select
        *,
        {% for rank, value, condition in [
            ('rank_by_deviation', 'deviation_pp', 'is_ranked'),
            ('rank_by_deviation_in_units', 'deviation', 'is_ranked'),
            ('rank_by_susceptibility', 'spread_pp', 'is_ranked'),
            ('rank_by_deviation_with_no_technique', 'deviation_pp', "(is_ranked or technique = 'no_technique')"),
        ] -%}
            {{ rank_among(value, condition, within) }} as {{ rank }}
            {{- ',' if not loop.last }}
        {% endfor %}
    from effects
)

select * from ranked
