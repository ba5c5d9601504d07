-- One row per study, paradigm, measure, instrument, llm, vignette, item, technique, arm, row set and temperature scope:
-- what was answered. Percentages are of the mean answer in the baseline, which is of all temperatures.
{% set keys = [
    'study', 'paradigm', 'measure', 'instrument', 'domain', 'llm', 'vignette', 'item', 'technique', 'arm', 'row_set',
] %}
{% set of_baseline = keys | reject('in', ['technique', 'arm']) | list %}
with counts as (
    select *, arm = relative_to and technique = 'no_technique' as is_baseline from {{ ref('counts') }}
    where response_source is null or response_source = '{{ var("response_source") }}'
),

baselines as (
    select {{ of_baseline | join(', ') }}, sum(sum_of_values) / nullif(sum(n_trials), 0) as baseline
    from counts
    where is_baseline
    group by all
),

compared as (
    select counts.*, baselines.baseline
    from counts
    left join baselines on {{ same_in('counts', 'baselines', of_baseline) }}
),

scoped as (
    select *, 'pooled' as temperature_scope from compared
    union all
    select *, {{ temperature_scope('temperature') }} as temperature_scope from compared
    where temperature is not null
),

placed as (
    select
        *,
        sum(sum_of_values) over cell / nullif(sum(n_trials) over cell, 0) as mean,
        sum(n_trials) over cell as n_cell,
        sum(n_trials) over (cell order by value, anchor_value, temperature) as n_up_to
    from scoped
    window cell as (partition by {{ keys | join(', ') }}, temperature_scope)
),

summarised as (
    select
        {{ keys | join(',\n        ') }},
        temperature_scope,
        coalesce(is_baseline, false) as is_baseline,
        sum(n_asked)::bigint as n_asked,
        sum(n_trials)::bigint as n_trials,
        any_value(mean) as mean,
        {{ weighted_median('value', 'n_up_to', 'n_cell') }} as median,
        sqrt(sum(
            case
                when value is not null then n_trials * (value - mean) ** 2
                else greatest(sum_of_squares - 2 * mean * sum_of_values + n_trials * mean ** 2, 0)
            end
        ) / nullif(greatest(sum(n_trials) - 1, 0), 0)) as sd,
        min(value) as least,
        max(value) as most,
        {{ percent_of_baseline('any_value(mean)', 'any_value(baseline)') }} as percent_of_baseline,
        sum(n_trials * (value - baseline) / nullif(anchor_value - baseline, 0))
        / nullif(sum(n_trials) filter (where anchor_value != baseline), 0) as anchoring_index,
        any_value(baseline) as baseline,
        any_value(anchor_value) as an_anchor,
        any_value(relative_to) as relative_to
    from placed
    group by all
)

select
    * exclude (an_anchor, relative_to),
    {{ reasons([
        ("n_trials = 0", "no_answers"),
        ("n_trials = 1", "one_trial"),
        ("relative_to is not null and baseline is null", "no_baseline"),
        ("baseline = 0", "zero_baseline"),
        ("n_trials > 0 and anchoring_index is null and an_anchor is not null and baseline is not null", "anchor_equals_baseline"),
    ]) }} as reason
from summarised
