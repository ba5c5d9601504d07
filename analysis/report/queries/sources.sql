with asked as (
    select study, vignette, domain, source, llm, role, asked_at, 1 as n_runs from marts.trials
    where left_out_because is null
    union all
    select
        study, vignette, domain, 'counted' as source, llm, null as role, null as asked_at, n_asked as n_runs
    from marts.counts
    anti join marts.trials using (study, paradigm)
    where row_set = 'accepted'
    qualify instrument is not distinct from min(instrument) over (partition by study, paradigm)
)

select
    study, vignette, domain, source, sum(n_runs)::bigint as n_trials,
    count(distinct llm) filter (where role is null) as n_llms,
    min(asked_at) as first_asked_at, max(asked_at) as last_asked_at
from asked
group by all
order by study, vignette, domain, source
