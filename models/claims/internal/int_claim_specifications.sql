-- noqa: disable=LT02
-- One row per claim and part that is looked up and purpose (published, recommended): the estimate it is compared with.
{% set columns = 'claim_id, part, purpose, ' ~ estimate_keys() | join(', ') %}
with claims as (
    select * from {{ ref('published_claims') }}
),

published as (
    select *, 'published' as purpose from claims
    where quantity is not null
),

recommended as (
    select
        * replace (
            coalesce(recommended_quantity, quantity) as quantity,
            case when derivation is null then anchor_direction else 'both' end as anchor_direction,
            case when derivation is null then temperature_scope else 'pooled' end as temperature_scope,
            {% for column, value in recommended_specification().items() -%}
                case when derivation is not null or {{ column }} is not null then '{{ value }}' end as {{ column }},
            {% endfor -%}
            coalesce(recommended_method, method) as method
        ),
        'recommended' as purpose
    from claims
    where quantity is not null or recommended_quantity is not null
)

select {{ columns }} from published
union all
select {{ columns }} from recommended
