-- Each open decision over LLMs, against the control, has both ways to settle it; one that is settled has none.
with decided as (
    select study, domain, technique, goal, control, decision
    from {{ ref('decisions') }}
    where paradigm = 'anchoring' and llm is null and comparison = 'control' and n_llms > 0
),

ways as (
    select study, domain, technique_a as technique, goal, technique_b as control, count(*) as n_ways
    from {{ ref('power') }}
    where design = 'to_settle'
    group by all
)

select *
from decided
full join ways using (study, domain, technique, goal, control)
where coalesce(n_ways, 0) != case when decision = 'no_evidence' then 2 else 0 end
