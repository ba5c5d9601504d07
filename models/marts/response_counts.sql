-- One row per study, llm, vignette, technique, anchor, temperature, row set, response source and distinct response.
with responses as (
    select * from {{ ref('int_responses_sourced') }}
)

select
    study,
    llm,
    domain,
    vignette,
    technique,
    anchor_direction,
    anchor_value,
    temperature,
    row_set,
    response_source,
    response,
    sum(n_trials)::bigint as n_trials
from responses
group by all
