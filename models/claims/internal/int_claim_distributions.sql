-- noqa: disable=LT02
-- One row per specification that a claim asks for, technique, llm (null = all) and anchor direction: how the trials lie
-- about the baseline. The rank is among the techniques that share the rest.
{% set keys = specification_keys() %}
{% set cell = keys ~ ', specification, technique, llm, anchor_direction' %}
{% set statistics = [
    'median_percent_of_baseline', 'sd_percent_of_baseline', 'sd_population_percent_of_baseline', 'skewness',
    'madb_percent', 'percent_within_10_percent', 'percent_below_baseline',
] %}
with techniques as (
    select * from {{ ref('techniques') }}
),

responses as (
    -- a trial has a percent of its own only in a mean of ratios, and directions that weigh the same have no
    -- distribution
    select *, percent_of_baseline as percent from {{ ref('int_claim_responses') }}
    where estimator = 'mean_of_ratios' and direction_weighting = 'trial' and percent_of_baseline is not null
),

-- each trial enters the distribution of its LLM and of all, of its direction and of both
by_llm as (
    select *, unnest([of_llm, null]) as llm from responses
),

by_direction as (
    select *, unnest([of_direction, 'both']) as anchor_direction from by_llm
),

percents as (
    select
        {{ cell }}, percent,
        sum(n_trials) as n,
        sum(sum(n_trials)) over (partition by {{ cell }}) as n_cell,
        sum(sum(n_trials)) over (partition by {{ cell }} order by percent) as n_up_to,
        sum(sum(n_trials * percent)) over (partition by {{ cell }}) / n_cell as mean,
        list(distinct of_llm) as of_llms
    from by_direction
    group by {{ cell }}, percent
),

moments as (
    select
        {{ cell }},
        sum(n)::bigint as n_trials,
        len(list_distinct(flatten(list(of_llms)))) as n_llms,
        {{ weighted_median('percent', 'n_up_to', 'n_cell') }} as median_percent_of_baseline,
        sum(n * abs(percent - 100)) / sum(n) as madb_percent,
        100 * coalesce(sum(n) filter (where abs(percent - 100) <= 10 + 1e-9), 0) / sum(n) as percent_within_10_percent,
        100 * coalesce(sum(n) filter (where percent < 100 - 1e-9), 0) / sum(n) as percent_below_baseline,
        sum(n * (percent - mean) ** 2) / sum(n) as variance,
        sum(n * (percent - mean) ** 3) / sum(n) as third_moment,
        min(percent) = max(percent) as is_constant
    from percents
    group by {{ cell }}
),

described as (
    select
        *,
        case when is_constant then 0 else sqrt(variance) end as sd_population_percent_of_baseline,
        {{ sample_sd('variance', 'n_trials', 'is_constant') }} as sd_percent_of_baseline,
        {{ skewness('third_moment', 'variance', 'n_trials', 'is_constant') }} as skewness
    from moments
),

weighted as (
    -- trial: every trial weighs the same; an LLM's own row is the same under either weighting
    select {{ cell }}, n_trials, n_llms, {{ statistics | join(', ') }} from described
    where llm is not null or weighting = 'trial'
    union all by name
    -- llm: every LLM weighs the same, each with its own statistic
    select
        {{ cell | replace(' llm,', ' null as llm,') }},
        sum(n_trials)::bigint as n_trials,
        count(*) as n_llms,
        {% for statistic in statistics -%}
            avg({{ statistic }}) as {{ statistic }}{{ ',' if not loop.last }}
        {% endfor %}
    from described
    where llm is not null and weighting = 'llm'
    group by {{ cell | replace(' llm,', '') }}
),

ranked as (
    select
        -- the last bits of a mean depend on the order in which its numbers come
        weighted.* replace (
            {% for statistic in statistics -%}
                round(weighted.{{ statistic }}, 9) as {{ statistic }}{{ ',' if not loop.last }}
            {% endfor %}
        ),
        case when is_ranked then rank() over within_ranked end as rank_by_share_within_10_percent
    from weighted
    inner join techniques using (technique)
    window within_ranked as (
        partition by specification, llm, anchor_direction, is_ranked
        order by round(weighted.percent_within_10_percent, 9) desc
    )
)

select * from ranked
