-- noqa: disable=LT02
-- One row per specification that a claim asks for, technique, llm (null = all) and anchor direction; ranks are among
-- the techniques that share the rest.
{% set keys = specification_keys() %}
{% set means = ['mean_response', 'percent_of_baseline', 'deviation'] %}
with techniques as (
    select * from {{ ref('techniques') }}
),

responses as (
    select * from {{ ref('int_claim_responses') }}
    where estimator != 'repeated_cell_means'
),

mean_baselines as (
    select specification, llm, avg(baseline) as mean_baseline from {{ ref('int_claim_baselines') }}
    group by grouping sets ((specification, llm), (specification))
),

files as (
    select
        {{ keys }},
        specification,
        technique,
        of_llm,
        of_direction,
        temperature,
        anchor_value,
        sum(n_trials) as n_file,
        sum(n_trials * response) as sum_of_responses,
        sum(n_trials) filter (where baseline is not null) as n_compared,
        sum(n_trials * (response - baseline)) as sum_of_deviations,
        sum(n_trials * percent_of_baseline) as sum_of_percents
    from responses
    group by all
),

-- each file enters the effect of its LLM and of all, of its direction and of both
by_llm as (
    select *, unnest([of_llm, null]) as llm from files
),

by_direction as (
    select *, unnest([of_direction, 'both']) as anchor_direction from by_llm
),

llm_means as (
    select
        {{ keys }},
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
    from by_direction
    group by all
),

pooled as (
    select
        {{ keys }}, specification, technique, llm, anchor_direction,
        sum(n_llm)::bigint as n_trials,
        case
            when estimator = 'ratio_of_file_means' then sum(sum_of_file_means) / sum(n_files)
            when weighting = 'llm' then avg(sum_of_responses / n_llm)
            else sum(sum_of_responses) / sum(n_llm)
        end as mean_response,
        {% for name in ['deviation', 'percent'] -%}
            case
                when weighting = 'llm' then avg(sum_of_{{ name }}s / n_compared)
                else sum(sum_of_{{ name }}s) / sum(n_compared)
            end as mean_{{ name }}{{ ',' if not loop.last }}
        {% endfor %}
    from llm_means
    group by {{ keys }}, specification, technique, llm, anchor_direction
),

estimated as (
    select
        pooled.* exclude (mean_percent, mean_deviation),
        case
            when estimator = 'mean_of_ratios' then mean_percent
            else {{ percent_of_baseline('mean_response', 'mean_baseline') }}
        end as percent_of_baseline,
        case when estimator = 'mean_of_ratios' then mean_deviation else mean_response - mean_baseline end as deviation
    from pooled
    left join mean_baselines
        on pooled.specification = mean_baselines.specification and pooled.llm is not distinct from mean_baselines.llm
),

sided as (
    select
        *,
        {% for mean in means -%}
            {%- for side in ['low', 'high'] -%}
                any_value({{ mean }}) filter (where anchor_direction = '{{ side }}') over sides
                    as {{ side }}_{{ mean }},
            {% endfor -%}
        {%- endfor %}
        direction_weighting = 'balanced' and anchor_direction = 'both' as is_balanced
    from estimated
    window sides as (partition by specification, technique, llm)
),

effects as (
    select
        * replace (
            {% for mean in means -%}
                case when is_balanced then (low_{{ mean }} + high_{{ mean }}) / 2 else {{ mean }} end as {{ mean }}
                {{- ',' if not loop.last }}
            {% endfor %}
        ),
        high_mean_response - low_mean_response as spread,
        high_percent_of_baseline - low_percent_of_baseline as spread_pp
    from sided
),

compared_to_no_technique as (
    select
        *,
        percent_of_baseline - 100 as deviation_pp,
        any_value(spread_pp) filter (where technique = 'no_technique') over (
            partition by specification, llm, anchor_direction
        ) as spread_pp_no_technique
    from effects
    inner join techniques using (technique)
)

select
    {{ keys }}, technique, llm, anchor_direction, n_trials, mean_response, percent_of_baseline, deviation, deviation_pp,
    spread, spread_pp, {{ spread_change_percent('spread_pp', 'spread_pp_no_technique') }} as spread_change_percent,
    {% for rank, value, condition in [
        ('rank_by_deviation', 'deviation_pp', 'is_ranked'),
        ('rank_by_deviation_in_units', 'deviation', 'is_ranked'),
        ('rank_by_susceptibility', 'spread_pp', 'is_ranked'),
        ('rank_by_deviation_with_no_technique', 'deviation_pp', "(is_ranked or technique = 'no_technique')"),
    ] -%}
        {{ rank_among(value, condition, 'specification, llm, anchor_direction') }} as {{ rank }}
        {{- ',' if not loop.last }}
    {% endfor %}
from compared_to_no_technique
