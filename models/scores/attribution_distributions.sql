-- One row per study, scoring, llm, variation, anchor direction, anchor, field and specification: how what the field of
-- the prompt adds is distributed over the targets, as a box plot draws it.
{% set cell = 'study, scoring_set, scoring, llm, variation, question, anchor_regime, anchor_direction, anchor, field' %}
with attributions as (
    select * from {{ ref('attributions') }}
),

by_specification as (
    select {{ cell }}, 'published' as specification, banzhaf as contribution, 'no_attribution' as missing
    from attributions
    union all
    select {{ cell }}, 'recommended' as specification, shapley as contribution, 'not_recoverable' as missing
    from attributions
),

-- over fewer targets it would be another distribution
listed as (
    select
        {{ cell }},
        specification,
        count(contribution) as n_targets,
        case when n_targets = count(*) then list(contribution) end as contributions,
        case when contributions is null then any_value(missing) end as reason
    from by_specification
    group by all
),

boxed as (
    select
        *,
        list_aggregate(contributions, 'quantile_cont', 0.25) as lower_quartile,
        list_aggregate(contributions, 'quantile_cont', 0.75) as upper_quartile,
        1.5 * (upper_quartile - lower_quartile) as reach
    from listed
)

select
    {{ cell }},
    specification,
    n_targets,
    list_avg(contributions) as mean,
    list_stddev_samp(contributions) as sd,
    list_min(contributions) as minimum,
    list_min(list_filter(contributions, lambda x: x >= lower_quartile - reach)) as lower_whisker,
    lower_quartile,
    list_median(contributions) as median,
    upper_quartile,
    list_max(list_filter(contributions, lambda x: x <= upper_quartile + reach)) as upper_whisker,
    list_max(contributions) as maximum,
    reason
from boxed
