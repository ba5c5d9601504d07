-- One row per study, llm, vignette, technique, anchor direction, temperature and day in UTC (null: not recorded): the
-- answers of that day, and those of all other days about the mean of the day, so that large ones lose no digits.
with days as (
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
    from {{ ref('int_trials_directed') }}
    where response is not null and not is_quarantined
    group by all
)

select
    {{ all_but(['squares', 'least', 'most'], of='days') }},
    coalesce(sum(others.n_trials), 0) as n_others,
    sum(others.n_trials * (others.mean_response - days.mean_response)) as sum_others,
    sum(others.squares + others.n_trials * power(others.mean_response - days.mean_response, 2)) as squares_others,
    min(others.least) = max(others.most) as are_others_equal
from days
left join days as others
    on
        {{ same_in('days', 'others', ['study', 'llm', 'vignette', 'technique', 'anchor_direction', 'temperature']) }}
        and days.day != others.day
group by all
