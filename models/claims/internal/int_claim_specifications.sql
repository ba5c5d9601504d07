-- noqa: disable=LT02
-- One row per claim and part that is looked up and purpose (published, recommended): the estimate it is compared with.
with claims as (
    select * from {{ ref('published_claims') }}
),

published as (
    select
        claim_id,
        part,
        'published' as purpose,
        {{ estimate_keys() | join(', ') }}
    from claims
    where quantity is not null
),

recommended as (
    select
        claim_id,
        part,
        'recommended' as purpose,
        coalesce(recommended_quantity, quantity) as quantity,
        study,
        domain,
        technique,
        technique_b,
        llm,
        excluded_llm,
        case when derivation is null then anchor_direction else 'both' end as anchor_direction,
        case when derivation is null then temperature_scope else 'pooled' end as temperature_scope,
        {% for column, value in recommended_specification().items() -%}
            case when derivation is not null or {{ column }} is not null then '{{ value }}' end as {{ column }}
            {{- ',' }}
        {% endfor %}
        coalesce(recommended_method, method) as method
    from claims
    where quantity is not null or recommended_quantity is not null
)

select * from published
union all
select * from recommended
