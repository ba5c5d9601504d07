select
    study, sum(n_asked)::bigint as n_asked, sum(n_answered)::bigint as n_answered,
    count(distinct llm) filter (where role is null) as n_llms
from marts.attrition
group by all
order by all
