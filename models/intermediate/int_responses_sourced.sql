-- One row per study, llm, vignette, technique, anchor, temperature, row set, response source, completeness and distinct
-- response: all that any statistic needs to know of the trials. A SACD trial counts twice: its last answer as `sacd`,
-- its first as `sacd_initial`. `as_recorded` holds every number, `accepted` the answered trials that the gate did not
-- quarantine, `without_suspects` those of them that it did not flag at all. Each study has both response sources: only
-- the text of a recorded archive can say another number than was recorded.
with numbers as (
    select
        *,
        case
            when is_read and status_recorded is null then coalesce(number_recorded, number_read)
            else number_recorded
        end as recorded,
        case
            when response_text is not null and status_recorded is null then number_read
            else number_recorded
        end as reparsed
    from {{ ref('int_trials_directed') }}
),

judged as (
    select
        *,
        {{ trial_status('status_recorded', 'status_read', 'recorded', 'valid_min', 'valid_max') }} = 'answered'
            as is_recorded_answered,
        {{ trial_status('status_recorded', 'status_read', 'reparsed', 'valid_min', 'valid_max') }} = 'answered'
            as is_reparsed_answered
    from numbers
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
        recorded,
        is_recorded_answered,
        reparsed,
        is_reparsed_answered,
        first_response,
        is_first_out_of_range,
        is_quarantined,
        is_flagged,
        count(*) as n_trials
    from judged
    group by all
),

by_source as (
    select *, 'recorded' as response_source, recorded as last_response, is_recorded_answered as is_answered
    from counted
    union all
    select *, 'reparsed' as response_source, reparsed as last_response, is_reparsed_answered as is_answered
    from counted
),

answers as (
    select
        *,
        technique as answered_technique,
        last_response as response,
        is_answered and not is_quarantined as is_accepted,
        technique != 'sacd' or first_response is not null as has_all_answers
    from by_source
    union all
    select
        *,
        'sacd_initial' as answered_technique,
        first_response as response,
        not is_first_out_of_range and not is_quarantined as is_accepted,
        last_response is not null as has_all_answers
    from by_source
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
    answers.response_source,
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
