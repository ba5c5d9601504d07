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

boxed as (
    select
        {{ cell }},
        specification,
        count(contribution) as n_targets,
        -- over fewer targets it would be another distribution
        n_targets = count(*) as is_whole,
        list(contribution) as contributions,
        avg(contribution) as mean,
        stddev_samp(contribution) as sd,
        quantile_cont(contribution, 0.25) as lower_quartile,
        quantile_cont(contribution, 0.5) as median,
        quantile_cont(contribution, 0.75) as upper_quartile,
        1.5 * (upper_quartile - lower_quartile) as reach,
        any_value(missing) as missing
    from by_specification
    group by all
)

select
    {{ cell }},
    specification,
    n_targets,
    {% for statistic, expression in {
        'mean': 'mean',
        'sd': 'sd',
        'minimum': 'list_min(contributions)',
        'lower_whisker': 'list_min(list_filter(contributions, lambda x: x >= lower_quartile - reach))',
        'lower_quartile': 'lower_quartile',
        'median': 'median',
        'upper_quartile': 'upper_quartile',
        'upper_whisker': 'list_max(list_filter(contributions, lambda x: x <= upper_quartile + reach))',
        'maximum': 'list_max(contributions)',
    }.items() -%}
        case when is_whole then {{ expression }} end as {{ statistic }},
    {% endfor -%}
    case when not is_whole then missing end as reason
from boxed
