-- One row per trial that its study asked for, as it asks now, and that nobody sees: a person withdrew it, or its
-- batch is rejected, failed or not audited.
select
    trials.trial_id,
    withdrawn.withdrawn_at,
    verdicts.verdict_id,
    case
        when verdicts.is_published then 'withdrawn'
        when verdicts.act = 'reject' then 'rejected'
        else 'held_back'
    end as fate
from {{ ref('stg_trials') }} as trials
left join {{ ref('int_versions_resolved') }} as versions using (trial_id)
left join {{ ref('stg_batch_verdicts') }} as verdicts
    on coalesce(versions.batch_id, trials.batch_id) = verdicts.batch_id
left join {{ ref('stg_withdrawn_trials') }} as withdrawn on trials.trial_id = withdrawn.trial_id
anti join {{ ref('int_trials_published') }} as published on trials.trial_id = published.trial_id
anti join {{ ref('stg_left_out_trials') }} as left_out on trials.trial_id = left_out.trial_id
anti join {{ ref('int_prompts_outdated') }} as outdated
    on
        coalesce(versions.batch_id, trials.batch_id) = outdated.batch_id
        and trials.technique = outdated.technique
where versions.superseded_by_version is null and verdicts.is_older is not true
