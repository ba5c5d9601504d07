-- One row per audited trial and reason to flag it.
with offences as (
    select * from {{ ref('gate_offences') }}
),

trials as (
    select trial_id, batch_id, study from {{ ref('gate_trials') }}
),

reasons as (
    select reason, severity from {{ ref('flag_reasons') }}
)

select trial_id, batch_id, study, severity, reason, min(detail) as detail
from offences
inner join trials using (trial_id)
inner join reasons using (reason)
group by all
