-- One row per study, llm, vignette, technique, anchor, temperature, row set, completeness and distinct response: all
-- that any statistic needs to know of the trials. A SACD trial counts twice: its last answer as `sacd`, its first as
-- `sacd_initial`. `as_recorded` holds every number, `accepted` the answered trials that the gate did not quarantine,
-- `without_suspects` those of them that it did not flag at all.
with trials as (
    select * from {{ ref('int_trials_directed') }}
),

counted as (
    select
        study,
        domain,
        vignette,
        llm,
        technique,
        anchor_direction,
        anchor_value,
        temperature,
        response_recorded,
        first_response,
        status = 'answered' as is_answered,
        is_first_out_of_range,
        is_quarantined,
        is_flagged,
        count(*) as n_trials
    from trials
    group by all
),

answers as (
    select
        *,
        technique as answered_technique,
        response_recorded as response,
        is_answered and not is_quarantined as is_accepted,
        technique != 'sacd' or first_response is not null as has_all_answers
    from counted
    union all
    select
        *,
        'sacd_initial' as answered_technique,
        first_response as response,
        not is_first_out_of_range and not is_quarantined as is_accepted,
        response_recorded is not null as has_all_answers
    from counted
    where technique = 'sacd'
),

row_sets as (
    select * from (values ('as_recorded'), ('accepted'), ('without_suspects')) as row_sets (row_set)
)

select
    answers.study,
    answers.domain,
    answers.vignette,
    answers.llm,
    answers.answered_technique as technique,
    answers.anchor_direction,
    answers.anchor_value,
    answers.temperature,
    row_sets.row_set,
    '{{ var("response_source") }}' as response_source,
    answers.has_all_answers,
    answers.response,
    sum(answers.n_trials)::bigint as n_trials
from answers
cross join row_sets
where
    answers.response is not null
    and (row_sets.row_set = 'as_recorded' or answers.is_accepted)
    and (row_sets.row_set != 'without_suspects' or not answers.is_flagged)
group by all
