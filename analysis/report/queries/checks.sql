select
    verdicts.study, verdicts.vignette, checks.verdict_id, check_name, level, observed_value, threshold,
    measure, n_offending, detail
from raw.batch_checks as checks inner join raw.batch_verdicts as verdicts using (verdict_id)
semi join staging.stg_batch_verdicts as last using (verdict_id)
where not is_passed
order by study, level, check_name, vignette, verdict_id
