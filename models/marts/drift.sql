-- One row per study, llm, vignette, technique, anchor direction, temperature and day in UTC (null: not recorded): the
-- mean response of that day, and the band in which 95 % of such means lie if the answers of all days are alike.
with banded as (
    select
        *,
        mean_response + sum_others / n_others as mean_others,
        case
            when n_others > 1 and not are_others_equal
                then
                    t_quantile(0.975, n_others - 1)
                    * sqrt(greatest(squares_others - power(sum_others, 2) / n_others, 0) / (n_others - 1))
                    * sqrt(1 / n_trials + 1 / n_others)
        end as half_width,
        mean_others - half_width as low,
        mean_others + half_width as high,
        abs(mean_response - mean_others) > half_width as is_outside
    from {{ ref('int_days_compared') }}
)

select
    * exclude (n_others, sum_others, squares_others, are_others_equal, mean_others, half_width),
    count(low) over of_llm as n_days_of_llm,
    count(case when is_outside then 1 end) over of_llm as n_outside_of_llm,
    {{ reasons([
        ("day is null", "no_time"),
        ("day is not null and n_others = 0", "one_day"),
        ("n_others = 1", "one_trial"),
        ("n_others > 1 and are_others_equal", "no_variance"),
    ]) }} as reason
from banded
window of_llm as (partition by study, llm)
