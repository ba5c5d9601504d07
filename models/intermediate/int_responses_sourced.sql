-- One row per study, llm, vignette, item, technique, anchor, temperature, row set, response source, completeness and
-- distinct response (null = no valid one): all that any statistic needs to know of the trials. A SACD trial counts
-- twice: its last answer as `sacd`, its first as `sacd_initial`. `as_recorded` holds every number that was recorded,
-- under both response sources, `accepted` the answered trials that the gate did not quarantine, `without_suspects`
-- those of them that it did not flag at all. Only the text of a recorded archive can say another number than was
-- recorded.
{% set keys = [
    'study', 'domain', 'vignette', 'item', 'llm', 'technique', 'anchor_direction', 'anchor_value', 'temperature',
    'row_set', 'response_source', 'has_all_answers', 'response', 'valid_min', 'valid_max',
] %}
with counted as (
    select
        study,
        domain,
        vignette,
        item,
        llm,
        technique,
        anchor_direction,
        anchor_value,
        temperature,
        number_if_recorded,
        status_if_recorded = 'answered' as is_answered_if_recorded,
        number_if_reparsed,
        status_if_reparsed = 'answered' as is_answered_if_reparsed,
        first_response,
        is_first_out_of_range,
        is_quarantined,
        is_flagged,
        valid_min,
        valid_max,
        count(*) as n_trials
    from {{ ref('int_trials_directed') }}
    group by all
),

by_source as (
    {% for source in ('recorded', 'reparsed') %}
    select
        *,
        '{{ source }}' as response_source,
        number_if_{{ source }} as last_response,
        is_answered_if_{{ source }} as is_answered
    from counted
    {{ 'union all' if not loop.last }}
    {% endfor %}
),

in_row_sets as (
    select
        {{ all_with({
            'last_response': "case when row_set = 'as_recorded' then number_if_recorded else last_response end",
        }) }},
        row_set
    from by_source
    cross join (values ('as_recorded'), ('accepted'), ('without_suspects')) as row_sets (row_set)
),

answers as (
    select
        {{ all_with_last(['technique']) }},
        last_response as response,
        is_answered and not is_quarantined as is_accepted,
        technique != 'sacd' or first_response is not null as has_all_answers
    from in_row_sets
    union all
    select
        {{ all_with({'technique': "'sacd_initial'"}) }},
        first_response as response,
        not is_first_out_of_range and not is_quarantined as is_accepted,
        last_response is not null as has_all_answers
    from in_row_sets
    where technique = 'sacd'
),

valid as (
    select {{ all_with({'response': "case when row_set = 'as_recorded' or is_accepted then response end"}) }}
    from answers
    where
        (row_set = 'as_recorded' or not is_quarantined)
        and (row_set != 'without_suspects' or not is_flagged)
)

select
    {{ keys | join(',\n    ') }},
    sum(n_trials)::bigint as n_trials
from valid
where technique != 'sacd_initial' or response is not null
{{ group_by(keys) }}
