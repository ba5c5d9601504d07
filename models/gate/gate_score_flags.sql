-- One row per audited score and reason to flag it.
select offences.score_id as trial_id, batch_id, batches.study, reasons.severity, reason, offences.detail
from {{ ref('gate_score_offences') }} as offences
inner join {{ source('gate', 'audited_batches') }} as batches using (batch_id)
inner join {{ ref('flag_reasons') }} as reasons using (reason)
