-- noqa: disable=LT02
-- One row per study, vignette, technique, llm (null = all), anchor direction, temperature scope, row set, baseline
-- scope and weighting: the table of specifications.
{% set keys = [
    'study', 'domain', 'vignette', 'technique', 'row_set', 'baseline_scope', 'llm', 'anchor_direction',
    'temperature_scope',
] %}
with compared as (
    select
        * exclude (percent_of_baseline),
        percent_of_baseline as percent,
        percent_of_baseline - 100 as deviation_pp,
        dense_rank() over (
            order by study, vignette, technique, row_set, baseline_scope, llm, anchor_direction, temperature
        ) as condition
    from {{ ref('int_responses_compared') }}
),

-- sums by condition, so that only these few rows need be added up in many ways
conditions as (
    select
        condition,
        study,
        domain,
        vignette,
        technique,
        row_set,
        baseline_scope,
        llm as of_llm,
        anchor_direction as of_direction,
        temperature as of_temperature,
        coalesce(sum(n_trials) filter (where percent is not null), 0) as n_trials,
        sum(n_trials * deviation_pp) as sum_of_deviations_pp,
        sum(n_trials * (response - baseline)) as sum_of_deviations,
        sum(n_trials * abs(deviation_pp)) as sum_of_absolutes,
        sum(n_trials * deviation_pp ** 2) as sum_of_squares,
        sum(n_trials * deviation_pp ** 3) as sum_of_cubes,
        coalesce(sum(n_trials) filter (where abs(deviation_pp) <= 10 + 1e-9), 0) as n_within,
        coalesce(sum(n_trials) filter (where deviation_pp < -1e-9), 0) as n_below,
        min(percent) as min_percent,
        max(percent) as max_percent
    from compared
    group by all
),

-- each condition enters the effect of its LLM and of all, of its direction and of both, of its temperature and of all
by_llm as (
    select *, unnest([of_llm, null]) as llm from conditions
),

by_direction as (
    select *, unnest([of_direction, 'both']) as anchor_direction from by_llm
),

by_temperature as (
    select
        *,
        unnest(list_distinct([{{ temperature_scope('of_temperature') }}, 'pooled'])) as temperature_scope
    from by_direction
),

entered as (
    select *, dense_rank() over (order by {{ keys | join(', ') }}) as cell from by_temperature
),

moments as (
    select
        cell,
        {{ keys | join(',\n        ') }},
        sum(n_trials)::bigint as n_trials,
        count(distinct of_llm) filter (where n_trials > 0) as n_llms,
        sum(sum_of_deviations_pp) / nullif(sum(n_trials), 0) as mean_deviation_pp,
        sum(sum_of_deviations) / nullif(sum(n_trials), 0) as deviation,
        sum(sum_of_absolutes) / nullif(sum(n_trials), 0) as madb_percent,
        sum(sum_of_squares) as sum_of_squares,
        sum(sum_of_cubes) as sum_of_cubes,
        sum(n_within) / nullif(sum(n_trials), 0) as share_within_10_percent,
        sum(n_below) / nullif(sum(n_trials), 0) as share_below_baseline,
        min(min_percent) = max(max_percent) as is_constant
    from entered
    group by all
),

percentages as (
    select entered.cell, compared.percent, sum(compared.n_trials) as n
    from entered
    inner join compared using (condition)
    where compared.percent is not null
    group by all
),

running as (
    select
        *,
        sum(n) over (partition by cell order by percent) as n_up_to,
        sum(n) over (partition by cell) as n_cell
    from percentages
),

medians as (
    select cell, {{ weighted_median('percent', 'n_up_to', 'n_cell') }} as median_percent_of_baseline
    from running
    group by cell
),

central_moments as (
    select
        *,
        greatest(sum_of_squares / n_trials - mean_deviation_pp ** 2, 0) as variance,
        sum_of_cubes / n_trials
        - 3 * mean_deviation_pp * sum_of_squares / n_trials
        + 2 * mean_deviation_pp ** 3 as third_moment
    from moments
    left join medians using (cell)
),

statistics_ as (
    select
        * exclude (cell, mean_deviation_pp, is_constant, sum_of_squares, sum_of_cubes, variance, third_moment),
        100 + mean_deviation_pp as percent_of_baseline,
        {{ sample_sd('variance', 'n_trials', 'is_constant') }} as sd_percent_of_baseline,
        {{ skewness('third_moment', 'variance', 'n_trials', 'is_constant') }} as skewness
    from central_moments
),

weighted as (
    -- trial: every trial weighs the same; an LLM's own row is the same under either weighting
    select *, 'trial' as weighting from statistics_
    union all by name
    select *, 'llm' as weighting from statistics_
    where llm is not null
    union all by name
    -- llm: every LLM weighs the same, each with its own statistic
    select
        {{ keys | reject('equalto', 'llm') | join(',\n        ') }},
        'llm' as weighting,
        sum(n_trials)::bigint as n_trials,
        count(percent_of_baseline) as n_llms,
        {% for statistic in [
            'percent_of_baseline', 'deviation', 'madb_percent', 'median_percent_of_baseline', 'sd_percent_of_baseline',
            'skewness', 'share_within_10_percent', 'share_below_baseline',
        ] -%}
            avg({{ statistic }}) as {{ statistic }}{{ ',' if not loop.last }}
        {% endfor %}
    from statistics_
    where llm is not null
    group by all
)

select
    *,
    percent_of_baseline - 100 as deviation_pp,
    {{ reasons([
        ("percent_of_baseline is null", "no_baseline"),
        ("percent_of_baseline is not null and sd_percent_of_baseline is null", "one_trial"),
        ("n_trials in (1, 2) and skewness is null", "too_few_trials_for_skewness"),
        ("n_trials > 2 and skewness is null", "no_variance_for_skewness"),
    ]) }} as reason
from weighted
