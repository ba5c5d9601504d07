-- One row per study of people, product (null = all), format and condition (null = all): how often people chose it.
with counted as (
    select
        study,
        product,
        format,
        condition,
        count(*) as n_choices,
        count(*) filter (where is_target_chosen) as n_target_chosen,
        count(distinct participant) as n_participants,
        round(avg(relative_payment), 9) as mean_relative_payment
    from {{ ref('human_choices') }}
    where is_counted
    group by grouping sets (
        (study, format), (study, product, format), (study, format, condition), (study, product, format, condition)
    )
)

select
    *,
    n_target_chosen / n_choices as share,
    share_low(n_target_chosen, n_choices) as share_low,
    share_high(n_target_chosen, n_choices) as share_high,
    case when mean_relative_payment is null then 'no_payment' end as reason
from counted
