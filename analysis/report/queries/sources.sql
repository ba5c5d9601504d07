with asked as (
    select study, vignette, domain, source, llm, role, asked_at, 1 as n_runs from marts.trials
    where left_out_because is null
    union all
    select
        study, vignette, paradigm as domain, 'counted' as source, llm, null as role, counted_at as asked_at,
        n as n_runs
    from staging.stg_counts
)

select
    study, vignette, domain, source, sum(n_runs)::bigint as n_trials,
    count(distinct llm) filter (where role is null) as n_llms,
    min(asked_at) as first_asked_at, max(asked_at) as last_asked_at
from asked
group by all
order by study, vignette, domain, source
