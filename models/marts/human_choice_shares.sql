-- One row per study of people, product (null = all), format and condition (null = all): how often people chose it.
with choices as (
    select * from {{ ref('human_choices') }}
    where is_counted
),

counted as (
    select
        study,
        product,
        format,
        condition,
        count(*) as n_choices,
        count(*) filter (where is_target_chosen) as n_target_chosen,
        count(distinct participant) as n_participants,
        round(avg(relative_payment), 9) as mean_relative_payment
    from choices
    group by grouping sets (
        (study, format), (study, product, format), (study, format, condition), (study, product, format, condition)
    )
)

select
    study,
    product,
    format,
    condition,
    n_choices,
    n_target_chosen,
    n_participants,
    n_target_chosen / n_choices as share,
    share_low(n_target_chosen, n_choices) as share_low,
    share_high(n_target_chosen, n_choices) as share_high,
    mean_relative_payment,
    case when mean_relative_payment is null then 'no_payment' end as reason
from counted
