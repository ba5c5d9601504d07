-- noqa: disable=LT02
-- One row per specification that a claim asks for and anchored row of int_responses_counted that it takes in, with the
-- response as percent of the baseline it is compared with; null where there is none. Its LLM and direction are `of_llm`
-- and `of_direction`, as it enters effects of all of them.
with specifications as (
    {{ specifications_asked(ref('int_claim_specifications')) }}
),

counted as (
    select * exclude (llm, anchor_direction), llm as of_llm, anchor_direction as of_direction
    from {{ ref('int_responses_counted') }}
    where anchor_direction in ('low', 'high')
),

-- what responses are compared with: the baseline of their LLM, or (llm is null) one of all
references_ as (
    select
        specification,
        case when baseline_pooling = 'llm' then llm end as llm,
        at_temperature,
        sum(n_trials * baseline) / sum(n_trials) as baseline
    from {{ ref('int_claim_baselines') }}
    group by all
),

responses as (
    select
        {{ specification_keys() }},
        specification, vignette, technique, of_llm, of_direction, temperature, anchor_value, has_all_answers,
        response, n_trials
    from specifications
    inner join counted using (study, domain, row_set)
    where
        not {{ is_left_out('of_llm', 'excluded_llm') }}
        and temperature_scope in ('pooled', {{ temperature_scope('temperature') }})
        and (non_null = 'final' or has_all_answers)
)

select
    responses.*,
    references_.baseline,
    {{ percent_of_baseline('responses.response', 'references_.baseline') }} as percent_of_baseline
from responses
left join references_
    on
        responses.specification = references_.specification
        and (references_.llm is null or responses.of_llm = references_.llm)
        and (references_.at_temperature is null or responses.temperature = references_.at_temperature)
