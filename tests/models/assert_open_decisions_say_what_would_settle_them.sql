-- Each decision over LLMs against the control that its interval leaves open has three ways to settle it, each for two
-- probabilities; one that is settled has none, whatever it may be called.
{% set keys = question_keys() + ['technique', 'control'] %}
with decided as (
    select {{ keys | join(', ') }}, interval_decision from {{ ref('multiverse') }}
    where is_recommended and comparison = 'control' and n_llms > 0
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
where coalesce(n_ways, 0) != case when interval_decision = 'no_evidence' then 6 else 0 end
