-- One row per trial that is published unless a person withdrew it: it is what its source says now, in a batch that is
-- published, and was asked with the highest version of its words. A trial belongs to the batch that publishes it:
-- where a later version of its source took it over from a batch that is not published, to that of the version.
with trials as (
    select trials.trial_id, trials.study, trials.technique, coalesce(versions.batch_id, trials.batch_id) as batch_id
    from {{ ref('stg_trials') }} as trials
    left join {{ ref('int_versions_resolved') }} as versions using (trial_id)
    where versions.is_held is distinct from false
)

select trial_id, study, batch_id from trials
semi join {{ ref('stg_batch_verdicts') }} as verdicts on trials.batch_id = verdicts.batch_id and verdicts.is_published
anti join {{ ref('int_prompts_outdated') }} using (batch_id, technique)
