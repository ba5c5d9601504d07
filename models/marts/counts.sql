-- One row per study, paradigm, measure, instrument, llm, vignette, item, technique, arm, anchor value, temperature, row
-- set, response source and distinct value: how many trials gave it. A null value is that of the trials without one or,
-- where values are measured of texts or published as counts, of all trials, of which the sums are kept.
{% set keys = [
    'study', 'paradigm', 'measure', 'instrument', 'llm', 'vignette', 'item', 'technique', 'arm', 'anchor_value',
    'temperature', 'row_set', 'response_source',
] %}
with in_row_sets as (
    select *, {{ a_row_each(["'accepted'", "'without_suspects'"]) }} as row_set from {{ ref('int_outcomes_measured') }}
    where not is_quarantined
),

published as (
    select * from {{ ref('int_counts_published') }}
),

counted as (
    select
        study,
        'anchoring' as paradigm,
        null as measure,
        null as instrument,
        domain,
        llm,
        vignette,
        item,
        technique,
        anchor_direction as arm,
        anchor_value,
        temperature,
        row_set,
        response_source,
        'none' as relative_to,
        response as number,
        response as value,
        valid_min,
        valid_max,
        n_trials
    from {{ ref('int_responses_sourced') }}
    union all
    select
        study,
        paradigm,
        measure,
        instrument,
        domain,
        llm,
        vignette,
        item,
        technique,
        arm,
        anchor_value,
        temperature,
        row_set,
        null as response_source,
        relative_to,
        value as number,
        case when measured_from != 'measurement' then value end as value,
        valid_min,
        valid_max,
        1 as n_trials
    from in_row_sets
    inner join {{ ref('stg_paradigms') }} using (study, paradigm, measure)
    where row_set = 'accepted' or not is_flagged
)

select
    {{ keys | join(',\n    ') }},
    value,
    relative_to,
    domain,
    valid_min,
    valid_max,
    sum(n_trials)::bigint as n_asked,
    coalesce(sum(n_trials) filter (where number is not null), 0)::bigint as n_trials,
    -- in an order, so that a sum has the same last digit in each build
    coalesce({{ sum_in_order('n_trials * number', 'number') }}, 0) as sum_of_values,
    coalesce({{ sum_in_order('n_trials * power(number, 2)', 'number') }}, 0) as sum_of_squares
from counted
group by all
union all
select
    {{ keys | join(',\n    ') }},
    value,
    relative_to,
    domain,
    valid_min,
    valid_max,
    n_asked,
    n_trials,
    sum_of_values,
    sum_of_squares
from published
