-- One row per anchored row of int_responses_counted and baseline scope of its study and vignette, with the response as
-- percent of the baseline of that scope; null where the LLM has none.
with baseline_scopes as (
    select distinct study, vignette, row_set, baseline_scope from {{ ref('int_baselines_scoped') }}
)

select
    responses.*,
    baseline_scopes.baseline_scope,
    baselines.baseline,
    {{ percent_of_baseline('responses.response', 'baselines.baseline') }} as percent_of_baseline
from {{ ref('int_responses_counted') }} as responses
inner join baseline_scopes using (study, vignette, row_set)
left join {{ ref('int_baselines_scoped') }} as baselines
    on
        {{ same_in('responses', 'baselines', ['study', 'vignette', 'item', 'llm', 'row_set']) }}
        and baseline_scopes.baseline_scope = baselines.baseline_scope
        and (baselines.at_temperature is null or responses.temperature = baselines.at_temperature)
where responses.anchor_direction in ('low', 'high')
