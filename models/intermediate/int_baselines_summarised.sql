-- One row per study, llm, vignette, row set and temperature scope: the responses without anchor and technique.
with responses as (
    select * from {{ ref('int_responses_counted') }}
    where technique = 'no_technique' and anchor_direction = 'none'
),

scoped as (
    select *, 'pooled' as temperature_scope from responses
    union all
    select *, {{ temperature_scope('temperature') }} as temperature_scope from responses
    where temperature is not null
),

centred as (
    select
        *,
        sum(n_trials * response) over cell / sum(n_trials) over cell as baseline
    from scoped
    window cell as (partition by study, vignette, llm, row_set, temperature_scope)
)

select
    study,
    llm,
    domain,
    vignette,
    row_set,
    temperature_scope,
    sum(n_trials)::bigint as n_trials,
    any_value(baseline) as baseline,
    sqrt(sum(n_trials * (response - baseline) ** 2) / nullif(sum(n_trials) - 1, 0)) as sd_response,
    sqrt(sum(n_trials * (response - baseline) ** 2) / sum(n_trials)) as sd_population,
    min(response) as min_response,
    max(response) as max_response
from centred
group by all
