-- One row per study, vignette, item, llm, row set and baseline scope (and, for scope `matched`, temperature): what a
-- response of that LLM is compared with.
with responses as (
    select * from {{ ref('int_responses_counted') }}
    where technique = 'no_technique' and anchor_direction = 'none'
),

scopes as (
    select *, 'pooled' as baseline_scope, null::double as at_temperature from responses
    union all
    select *, 'matched' as baseline_scope, temperature as at_temperature from responses
    where temperature is not null
    union all
    select *, 't=' || {{ temperature_scope('temperature') }} as baseline_scope, null::double as at_temperature
    from responses
    where temperature is not null
)

select
    study,
    domain,
    vignette,
    item,
    llm,
    row_set,
    baseline_scope,
    at_temperature,
    sum(n_trials)::bigint as n_trials,
    sum(n_trials * response) / sum(n_trials) as baseline
from scopes
group by all
