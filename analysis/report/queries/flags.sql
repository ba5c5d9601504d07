select study, severity, reason, count(distinct trial_id) as n_trials
from raw.flagged_trials semi join staging.stg_batch_verdicts using (verdict_id)
semi join staging.stg_flagged_trials using (trial_id, batch_id)
semi join intermediate.int_trials_published using (trial_id, batch_id)
group by all
order by study asc, severity asc, n_trials desc, reason asc
