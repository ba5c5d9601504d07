-- One row per audited trial and reason to flag it.
with offences as (
    select * from {{ ref('gate_offences') }}
),

reasons as (
    select reason, severity from {{ ref('flag_reasons') }}
)

select trial_id, batch_id, cell['study'] as study, severity, reason, detail from offences
inner join reasons using (reason)
