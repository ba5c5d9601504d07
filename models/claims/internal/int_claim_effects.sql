-- noqa: disable=LT02
-- One row per specification that a claim asks for, technique, llm (null = all) and anchor direction.
with techniques as (
    select technique, is_ranked from {{ ref('techniques') }}
),

scoped_baselines as (
    select * from {{ ref('int_baselines_scoped') }}
),

counted as (
    select * from {{ ref('int_responses_counted') }}
    where anchor_direction in ('low', 'high')
),

specifications as (
    select distinct
        study,
        domain,
        excluded_llm,
        temperature_scope,
        row_set,
        baseline_scope,
        weighting,
        direction_weighting,
        baseline_pooling,
        estimator,
        non_null
    from {{ ref('int_claim_specifications') }}
    where estimator is not null
),

numbered as (
    select
        *,
        concat_ws(
            '/', study, domain, coalesce(excluded_llm, '-'), temperature_scope, row_set, baseline_scope, weighting,
            direction_weighting, baseline_pooling, estimator, non_null
        ) as specification
    from specifications
),

baselines as (
    select
        numbered.specification,
        scoped.llm,
        scoped.at_temperature,
        scoped.n_trials,
        scoped.baseline
    from numbered
    inner join scoped_baselines as scoped using (study, domain, row_set, baseline_scope)
    where scoped.llm is distinct from numbered.excluded_llm
),

domain_baselines as (
    select specification, at_temperature, sum(n_trials * baseline) / sum(n_trials) as domain_baseline
    from baselines
    group by all
),

mean_baselines as (
    select specification, unnest([llm, null]) as llm, baseline from baselines
),

responses as (
    select
        numbered.*,
        counted.technique,
        counted.llm as of_llm,
        counted.anchor_direction as of_direction,
        counted.anchor_value,
        counted.temperature,
        counted.response,
        counted.n_trials
    from numbered
    inner join counted using (study, domain, row_set)
    where
        counted.llm is distinct from numbered.excluded_llm
        and numbered.temperature_scope in ('pooled', {{ temperature_scope('counted.temperature') }})
        and (numbered.non_null = 'final' or counted.has_all_answers)
),

compared as (
    select
        responses.*,
        case responses.baseline_pooling
            when 'llm' then baselines.baseline
            else domain_baselines.domain_baseline
        end as baseline
    from responses
    left join baselines
        on
            responses.specification = baselines.specification
            and responses.of_llm = baselines.llm
            and (baselines.at_temperature is null or responses.temperature = baselines.at_temperature)
    left join domain_baselines
        on
            responses.specification = domain_baselines.specification
            and (domain_baselines.at_temperature is null or responses.temperature = domain_baselines.at_temperature)
),

-- each response enters the effect of its LLM and of all, of its direction and of both
by_llm as (
    select *, unnest([of_llm, null]) as llm from compared
),

by_direction as (
    select *, unnest([of_direction, 'both']) as anchor_direction from by_llm
),

files as (
    select
        specification,
        technique,
        llm,
        anchor_direction,
        of_llm,
        of_direction,
        temperature,
        anchor_value,
        sum(n_trials) as n_file,
        sum(n_trials * response) as sum_of_responses,
        sum(n_trials) filter (where baseline is not null) as n_compared,
        sum(n_trials * (response - baseline)) as sum_of_deviations,
        sum(n_trials * {{ percent_of_baseline('response', 'baseline') }}) as sum_of_percents
    from by_direction
    group by all
),

llm_means as (
    select
        specification,
        technique,
        llm,
        anchor_direction,
        of_llm,
        sum(n_file) as n_llm,
        sum(n_compared) as n_compared,
        sum(sum_of_responses) as sum_of_responses,
        sum(sum_of_deviations) as sum_of_deviations,
        sum(sum_of_percents) as sum_of_percents,
        count(*) as n_files,
        sum(sum_of_responses / n_file) as sum_of_file_means
    from files
    group by all
),

pooled as (
    select
        specification,
        technique,
        llm,
        anchor_direction,
        sum(n_llm)::bigint as n_trials,
        avg(sum_of_responses / n_llm) as llm_mean_response,
        sum(sum_of_responses) / sum(n_llm) as trial_mean_response,
        sum(sum_of_file_means) / sum(n_files) as file_mean_response,
        avg(sum_of_deviations / n_compared) as llm_deviation,
        sum(sum_of_deviations) / sum(n_compared) as trial_deviation,
        avg(sum_of_percents / n_compared) as llm_percent,
        sum(sum_of_percents) / sum(n_compared) as trial_percent
    from llm_means
    group by all
),

specified as (
    select
        numbered.*,
        pooled.technique,
        pooled.llm,
        pooled.anchor_direction,
        pooled.n_trials,
        case
            when numbered.estimator = 'ratio_of_file_means' then pooled.file_mean_response
            when numbered.weighting = 'llm' then pooled.llm_mean_response
            else pooled.trial_mean_response
        end as mean_response,
        case
            when numbered.weighting = 'llm' then pooled.llm_deviation else pooled.trial_deviation
        end as mean_deviation,
        case when numbered.weighting = 'llm' then pooled.llm_percent else pooled.trial_percent end as mean_percent,
        means.mean_baseline
    from pooled
    inner join numbered using (specification)
    left join (
        select specification, llm, avg(baseline) as mean_baseline from mean_baselines
        group by all
    ) as means
        on pooled.specification = means.specification and pooled.llm is not distinct from means.llm
),

estimated as (
    select
        * exclude (mean_percent, mean_deviation, mean_baseline),
        case
            when estimator = 'mean_of_ratios' then mean_percent
            else {{ percent_of_baseline('mean_response', 'mean_baseline') }}
        end as percent_of_baseline,
        case when estimator = 'mean_of_ratios' then mean_deviation else mean_response - mean_baseline end as deviation
    from specified
),

balanced as (
    select
        * exclude (mean_response, percent_of_baseline, deviation),
        {% for column in ['mean_response', 'percent_of_baseline', 'deviation'] -%}
            any_value({{ column }}) filter (where anchor_direction = 'low') over sides as low_{{ column }},
            any_value({{ column }}) filter (where anchor_direction = 'high') over sides as high_{{ column }},
            case
                when direction_weighting = 'balanced' and anchor_direction = 'both'
                    then (low_{{ column }} + high_{{ column }}) / 2
                else {{ column }}
            end as {{ column }}
            {{- ',' if not loop.last }}
        {% endfor %}
    from estimated
    window sides as (partition by specification, technique, llm)
),

spread_out as (
    select
        *,
        high_mean_response - low_mean_response as spread,
        high_percent_of_baseline - low_percent_of_baseline as spread_pp,
        percent_of_baseline - 100 as deviation_pp
    from balanced
),

compared_to_no_technique as (
    select
        *,
        any_value(spread_pp) filter (where technique = 'no_technique') over (
            partition by specification, llm, anchor_direction
        ) as spread_pp_no_technique
    from spread_out
)

select
    effects.* exclude (
        specification, low_mean_response, high_mean_response, low_percent_of_baseline, high_percent_of_baseline,
        low_deviation, high_deviation, spread_pp_no_technique
    ),
    techniques.is_ranked,
    {{ spread_change_percent('effects.spread_pp', 'effects.spread_pp_no_technique') }} as spread_change_percent
from compared_to_no_technique as effects
inner join techniques using (technique)
