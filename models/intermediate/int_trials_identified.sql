-- One row per trial of a published batch that is what its source says now, that was asked with the highest version of
-- its words, and that nobody withdrew, with its number and what became of it under the response source that the var
-- names, and its flags. A trial belongs to the batch that publishes it: where a later version took it over from a batch
-- that is not published, to that of the version.
{% set response_source = var('response_source') %}
with versions as (
    select * from {{ ref('int_versions_resolved') }}
),

trials as (
    select trials.* replace (coalesce(versions.batch_id, trials.batch_id) as batch_id)
    from {{ ref('int_trials_read') }} as trials
    left join versions using (trial_id)
    anti join {{ ref('stg_withdrawn_trials') }} using (trial_id)
    where versions.is_held is distinct from false
),

published as (
    select batch_id from {{ ref('stg_batch_verdicts') }}
    where is_published
),

outdated as (
    select batch_id, technique from {{ ref('int_words_outdated') }}
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
        when status = 'unparsed' then 'no_number'
        when status in ('failed', 'refused') then coalesce(reason_recorded, status)
        else status
    end as reason
from trials
semi join published using (batch_id)
anti join outdated using (batch_id, technique)
left join flags using (trial_id, batch_id)
