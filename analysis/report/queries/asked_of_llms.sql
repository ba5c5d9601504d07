select
    study, domain, vignette, llm, technique, sum(n_asked)::bigint as n_asked,
    sum(n_answered)::bigint as n_answered
from marts.attrition
where role is null and paradigm = 'anchoring'
group by all
order by all
