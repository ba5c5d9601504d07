-- One row per published trial, with its number and what became of it under the response source that the var names, and
-- its flags; and one more, in a study of its own, per trial of a version that claims are about where the study itself
-- has gone on.
{% set response_source = var('response_source') %}
with counting as (
    select trial_id, batch_id, trial_id as called, study from {{ ref('int_trials_published') }}
    union all
    select trial_id, batch_id, cited_trial_id as called, cited_study as study from {{ ref('int_trials_cited') }}
),

trials as (
    select {{ all_with({'batch_id': 'counting.batch_id', 'study': 'counting.study'}, of='readings') }}, counting.called
    from {{ ref('int_trials_read') }} as readings
    inner join counting using (trial_id)
)

select
    {{ all_with({'trial_id': 'trials.called'}, of='trials', left_out=['called', 'label_read']) }},
    trials.number_if_recorded as response_recorded,
    trials.status_if_{{ response_source }} as status,
    coalesce(flags.is_quarantined, false) as is_quarantined,
    flags.trial_id is not null as is_flagged,
    flags.flag_reasons,
    left_out.why as left_out_because,
    case when status = 'answered' then trials.number_if_{{ response_source }} end as response,
    case when status = 'answered' then trials.label_read end as response_label,
    case
        when status = 'answered' then null
        when status = 'unparsed' and reason_recorded is not null then reason_recorded
        when status = 'unparsed' and response_text is null then 'no_text'
        when status = 'unparsed' and status_read = 'unparsed' then reason_read
        when status = 'unparsed' then 'no_number'
        when status in ('failed', 'refused') then coalesce(reason_recorded, status)
        else status
    end as reason
from trials
left join {{ ref('stg_flagged_trials') }} as flags using (trial_id, batch_id)
left join {{ ref('stg_left_out_trials') }} as left_out on trials.trial_id = left_out.trial_id
