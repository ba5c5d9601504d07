select
    study, vignette, domain, source, count(*) as n_trials,
    count(distinct llm) filter (where role is null) as n_llms,
    min(asked_at) as first_asked_at, max(asked_at) as last_asked_at
from marts.trials
where left_out_because is null
group by all
order by study, vignette, domain, source
