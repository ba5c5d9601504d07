-- One row per study, vignette, technique, llm (null = all), anchor direction, temperature scope, row set, baseline scope
-- and weighting: the table of specifications.
with compared as (
    select * from {{ ref('int_responses_compared') }}
),

-- each count enters the effect of its LLM and of all, of its direction and of both, of its temperature and of all
spread_out as (
    select
        study,
        domain,
        vignette,
        technique,
        row_set,
        baseline_scope,
        unnest([llm, null]) as llm,
        llm as of_llm,
        anchor_direction as of_direction,
        temperature as of_temperature,
        response,
        baseline,
        percent_of_baseline as percent,
        n_trials
    from compared
),

by_direction as (
    select * exclude (of_direction), unnest([of_direction, 'both']) as anchor_direction from spread_out
),

by_temperature as (
    select
        * exclude (of_temperature),
        unnest(list_distinct([{{ temperature_scope('of_temperature') }}, 'pooled'])) as temperature_scope
    from by_direction
),

cells as (
    select
        *,
        sum(n_trials) filter (where percent is not null) over cell as n_cell,
        sum(n_trials) filter (where percent is not null) over (
            cell order by percent, of_llm, response, baseline
        ) as n_up_to,
        sum(n_trials * percent) over cell
        / sum(n_trials) filter (where percent is not null) over cell as mean_percent
    from (
        select * exclude (n_trials), sum(n_trials) as n_trials from by_temperature
        group by all
    ) as by_temperature
    window cell as (
        partition by
            study, vignette, technique, row_set, baseline_scope, llm, anchor_direction, temperature_scope
    )
),

moments as (
    select
        study,
        domain,
        vignette,
        technique,
        llm,
        anchor_direction,
        temperature_scope,
        row_set,
        baseline_scope,
        coalesce(any_value(n_cell), 0)::bigint as n_trials,
        count(distinct of_llm) filter (where percent is not null) as n_llms,
        any_value(mean_percent) as percent_of_baseline,
        sum(n_trials * (response - baseline)) / any_value(n_cell) as deviation,
        sum(n_trials * abs(percent - 100)) / any_value(n_cell) as madb_percent,
        {{ weighted_median('percent', 'n_up_to', 'n_cell') }} as median_percent_of_baseline,
        sum(n_trials * (percent - mean_percent) ** 2) as sum_of_squares,
        sum(n_trials * (percent - mean_percent) ** 3) as sum_of_cubes,
        sum(n_trials) filter (where abs(percent - 100) <= 10 + 1e-9) / any_value(n_cell) as share_within,
        sum(n_trials) filter (where percent < 100 - 1e-9) / any_value(n_cell) as share_below
    from cells
    group by all
),

statistics_ as (
    select
        * exclude (sum_of_squares, sum_of_cubes, share_within, share_below),
        sqrt(sum_of_squares / nullif(n_trials - 1, 0)) as sd_percent_of_baseline,
        -- adjusted Fisher-Pearson coefficient
        case
            when n_trials > 2 and sum_of_squares > 1e-9 * n_trials
                then
                    sqrt(n_trials * (n_trials - 1.0)) / (n_trials - 2)
                    * (sum_of_cubes / n_trials) / (sum_of_squares / n_trials) ** 1.5
        end as skewness,
        case when n_trials > 0 then coalesce(share_within, 0) end as share_within_10_percent,
        case when n_trials > 0 then coalesce(share_below, 0) end as share_below_baseline
    from moments
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
        study,
        domain,
        vignette,
        technique,
        null as llm,
        anchor_direction,
        temperature_scope,
        row_set,
        baseline_scope,
        'llm' as weighting,
        sum(n_trials)::bigint as n_trials,
        count(percent_of_baseline) as n_llms,
        avg(percent_of_baseline) as percent_of_baseline,
        avg(deviation) as deviation,
        avg(madb_percent) as madb_percent,
        avg(median_percent_of_baseline) as median_percent_of_baseline,
        avg(sd_percent_of_baseline) as sd_percent_of_baseline,
        avg(skewness) as skewness,
        avg(share_within_10_percent) as share_within_10_percent,
        avg(share_below_baseline) as share_below_baseline
    from statistics_
    where llm is not null
    group by all
)

select
    study,
    domain,
    vignette,
    technique,
    llm,
    anchor_direction,
    temperature_scope,
    row_set,
    baseline_scope,
    weighting,
    n_trials,
    n_llms,
    percent_of_baseline,
    percent_of_baseline - 100 as deviation_pp,
    deviation,
    madb_percent,
    median_percent_of_baseline,
    sd_percent_of_baseline,
    skewness,
    share_within_10_percent,
    share_below_baseline,
    {{ reasons([
        ("percent_of_baseline is null", "no_baseline"),
        ("percent_of_baseline is not null and sd_percent_of_baseline is null", "one_trial"),
        ("n_trials in (1, 2) and skewness is null", "too_few_trials_for_skewness"),
        ("n_trials > 2 and skewness is null", "no_variance_for_skewness"),
    ]) }} as reason
from weighted
