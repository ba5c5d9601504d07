-- Each open decision over LLMs, against the control, has both ways to settle it; one that is settled has none.
{% set keys = question_keys() + ['technique', 'control'] %}
with decided as (
    select {{ keys | join(', ') }}, decision from {{ ref('decisions') }}
    where llm is null and comparison = 'control' and n_llms > 0
),

ways as (
    select
        {{ question_keys() | join(', ') }},
        technique_a as technique,
        technique_b as control,
        count(*) as n_ways
    from {{ ref('power') }}
    where design = 'to_settle'
    group by all
)

select *
from decided
full join ways on {{ same_in('decided', 'ways', keys) }}
where coalesce(n_ways, 0) != case when decision = 'no_evidence' then 2 else 0 end
