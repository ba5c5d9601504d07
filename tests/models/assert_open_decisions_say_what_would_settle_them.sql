-- Each open decision over LLMs, against the control, has both ways to settle it; one that is settled has none.
with decisions as (
    select study, domain, technique, metric, control, decision
    from {{ ref('rank_probabilities') }}
    where llm is null and comparison = 'control' and n_llms > 0
),

ways as (
    select study, domain, technique_a as technique, metric, technique_b as control, count(*) as n_ways
    from {{ ref('power') }}
    where design = 'to_settle'
    group by all
)

select *
from decisions
full join ways using (study, domain, technique, metric, control)
where coalesce(n_ways, 0) != case when decision = 'no_evidence' then 2 else 0 end
