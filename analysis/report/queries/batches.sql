select
    batches.batch_id, batches.study, batches.source, batches.n_trials, batches.loaded_at,
    verdicts.verdict_id, verdicts.verdict, verdicts.n_failed, verdicts.n_warnings, verdicts.checked_at,
    last.is_published, last.act
from raw.batches as batches
left join staging.stg_batch_verdicts as last using (batch_id)
left join raw.batch_verdicts as verdicts using (verdict_id)
order by batches.study, batches.loaded_at, batches.batch_id
