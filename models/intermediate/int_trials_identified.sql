-- One row per trial of a published batch, with its number and what became of it under the response source that the var
-- names, and its flags.
{% set response_source = var('response_source') %}
with trials as (
    select * from {{ ref('int_trials_read') }}
),

published as (
    select batch_id from {{ ref('stg_batch_verdicts') }}
    where is_published
),

flags as (
    select * from {{ ref('stg_flagged_trials') }}
)

select
    trials.*,
    trials.number_if_{{ response_source }} as response_recorded,
    trials.status_if_{{ response_source }} as status,
    coalesce(flags.is_quarantined, false) as is_quarantined,
    flags.trial_id is not null as is_flagged,
    flags.flag_reasons,
    case when status = 'answered' then response_recorded end as response,
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
semi join published using (batch_id)
left join flags using (trial_id)
