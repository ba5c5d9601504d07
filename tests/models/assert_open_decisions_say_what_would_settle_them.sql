-- Each open decision over LLMs, against the control, has both ways to settle it; one that is settled has none.
{% set question = ['study', 'paradigm', 'domain', 'goal', 'measure', 'instrument', 'arm', 'arm_b'] %}
with decided as (
    select {{ question | join(', ') }}, technique, control, decision from {{ ref('decisions') }}
    where llm is null and comparison = 'control' and n_llms > 0
),

ways as (
    select {{ question | join(', ') }}, technique_a as technique, technique_b as control, count(*) as n_ways
    from {{ ref('power') }}
    where design = 'to_settle'
    group by all
)

select *
from decided
full join ways
    on
        decided.technique = ways.technique
        and decided.control = ways.control
        {% for key in question -%}
            and decided.{{ key }} is not distinct from ways.{{ key }}
        {% endfor %}
where coalesce(n_ways, 0) != case when decision = 'no_evidence' then 2 else 0 end
