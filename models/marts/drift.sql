-- One row per study, llm, vignette, technique, anchor direction, temperature and day in UTC (null: not recorded): the
-- mean response of that day, and the band in which 95 % of such means lie if the answers of all days are alike.
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where response is not null and not is_quarantined
),

days as (
    select
        study,
        llm,
        domain,
        vignette,
        technique,
        anchor_direction,
        temperature,
        {{ day_of('asked_at') }} as day,
        count(*) as n_trials,
        avg(response) as mean_response,
        var_pop(response) * count(*) as squares,
        min(response) as least,
        max(response) as most
    from trials
    group by all
),

-- about the mean of the day itself, so that large responses lose no digits
others_summed as (
    select
        days.study,
        days.llm,
        days.domain,
        days.vignette,
        days.technique,
        days.anchor_direction,
        days.temperature,
        days.day,
        days.n_trials,
        days.mean_response,
        coalesce(sum(others.n_trials), 0) as n_others,
        sum(others.n_trials * (others.mean_response - days.mean_response)) as sum_others,
        sum(others.squares + others.n_trials * power(others.mean_response - days.mean_response, 2)) as squares_others,
        min(others.least) = max(others.most) as are_others_equal
    from days
    left join days as others
        on
            days.study = others.study
            and days.llm = others.llm
            and days.vignette = others.vignette
            and days.technique = others.technique
            and days.anchor_direction = others.anchor_direction
            and days.temperature is not distinct from others.temperature
            and days.day != others.day
    group by all
),

expected as (
    select
        *,
        mean_response + sum_others / n_others as mean_others,
        case
            when n_others > 1 and not are_others_equal
                then
                    {{ t_quantile_975('(n_others - 1)') }}
                    * sqrt(greatest(squares_others - power(sum_others, 2) / n_others, 0) / (n_others - 1))
                    * sqrt(1 / n_trials + 1 / n_others)
        end as half_width
    from others_summed
),

banded as (
    select
        *,
        mean_others - half_width as low,
        mean_others + half_width as high,
        abs(mean_response - mean_others) > half_width as is_outside
    from expected
)

select
    study,
    llm,
    domain,
    vignette,
    technique,
    anchor_direction,
    temperature,
    day,
    n_trials,
    mean_response,
    low,
    high,
    is_outside,
    count(low) over of_llm as n_days_of_llm,
    {{ of_those('count', '*', 'is_outside') }} over of_llm as n_outside_of_llm,
    {{ reasons([
        ("day is null", "no_time"),
        ("day is not null and n_others = 0", "one_day"),
        ("n_others = 1", "one_trial"),
        ("n_others > 1 and are_others_equal", "no_variance"),
    ]) }} as reason
from banded
window of_llm as (partition by study, llm)
