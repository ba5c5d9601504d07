-- One row per anchored row of int_responses_counted and baseline scope of its study and vignette, with the response as
-- percent of the baseline of that scope; null where the LLM has none.
with responses as (
    select * from {{ ref('int_responses_counted') }}
    where anchor_direction in ('low', 'high')
),

baselines as (
    select study, vignette, llm, row_set, baseline_scope, at_temperature, baseline
    from {{ ref('int_baselines_scoped') }}
),

baseline_scopes as (
    select distinct study, vignette, row_set, baseline_scope from baselines
)

select
    responses.*,
    baseline_scopes.baseline_scope,
    baselines.baseline,
    {{ percent_of_baseline('responses.response', 'baselines.baseline') }} as percent_of_baseline
from responses
inner join baseline_scopes using (study, vignette, row_set)
left join baselines
    on
        responses.study = baselines.study
        and responses.vignette = baselines.vignette
        and responses.llm = baselines.llm
        and responses.row_set = baselines.row_set
        and baseline_scopes.baseline_scope = baselines.baseline_scope
        and (baselines.at_temperature is null or responses.temperature = baselines.at_temperature)
