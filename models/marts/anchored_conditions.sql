-- One row per study, llm, vignette, technique, anchor direction and temperature scope; accepted trials, pooled scope.
with responses as (
    select * from {{ ref('int_responses_counted') }}
    where anchor_direction in ('low', 'high') and row_set = 'accepted'
),

baselines as (
    select study, vignette, llm, baseline from {{ ref('baselines') }}
    where temperature_scope = 'pooled'
),

scoped as (
    select *, 'pooled' as temperature_scope from responses
    union all
    select *, {{ temperature_scope('temperature') }} as temperature_scope from responses
    where temperature is not null
),

placed as (
    select
        scoped.*,
        baselines.baseline,
        sum(n_trials * response) over cell / sum(n_trials) over cell as mean_response,
        sum(n_trials) over cell as n_cell,
        sum(n_trials) over (cell order by response, anchor_value, temperature, has_all_answers) as n_up_to
    from scoped
    left join baselines using (study, vignette, llm)
    window cell as (
        partition by study, vignette, llm, technique, anchor_direction, temperature_scope
    )
),

summarised as (
    select
        study,
        llm,
        domain,
        vignette,
        technique,
        anchor_direction,
        temperature_scope,
        sum(n_trials)::bigint as n_trials,
        any_value(mean_response) as mean_response,
        {{ weighted_median('response', 'n_up_to', 'n_cell') }} as median_response,
        sqrt(sum(n_trials * (response - mean_response) ** 2) / nullif(sum(n_trials) - 1, 0)) as sd_response,
        {{ percent_of_baseline('any_value(mean_response)', 'any_value(baseline)') }} as percent_of_baseline,
        sum(n_trials * (response - baseline) / nullif(anchor_value - baseline, 0))
        / nullif(sum(n_trials) filter (where anchor_value != baseline), 0) as anchoring_index,
        any_value(baseline) as baseline
    from placed
    group by all
)

select
    * exclude (baseline),
    {{ reasons([
        ("sd_response is null", "one_trial"),
        ("baseline is null", "no_baseline"),
        ("baseline = 0", "zero_baseline"),
        ("anchoring_index is null and baseline is not null", "anchor_equals_baseline"),
    ]) }} as reason
from summarised
