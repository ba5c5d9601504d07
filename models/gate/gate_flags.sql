-- One row per trial and reason to flag it: what is wrong with the trial itself, and the trials because of which their
-- cell is above a threshold.
with reasons as (
    select reason, severity from {{ ref('flag_reasons') }}
),

offences as (
    select trial_id, batch_id, study, reason, detail from {{ ref('gate_offences') }}
),

cell_offences as (
    select cell_offences.batch_id, cell_offences.cell, cell_offences.reason, cell_offences.detail
    from {{ ref('gate_cell_offences') }} as cell_offences
    inner join {{ source('gate', 'checks') }} as checks on cell_offences.reason = checks.check_name
    where cell_offences.value > least(checks.warn, checks.fail)
),

trials as not materialized (
    select trial_id, batch_id, study, cell, llm, status from {{ ref('gate_trials') }}
    where is_new
),

served as not materialized (
    select trials.trial_id, trials.batch_id, trials.llm, calls.upstream_provider from trials
    inner join {{ ref('stg_calls') }} as calls using (trial_id)
    where calls.error is null and calls.upstream_provider is not null
),

usual_providers as (
    select batch_id, llm, upstream_provider as usual_provider from served
    group by batch_id, llm, usual_provider
    qualify row_number() over (partition by batch_id, llm order by count(*) desc, usual_provider asc) = 1
),

served_elsewhere as (
    select served.trial_id from served
    inner join usual_providers using (batch_id, llm)
    where served.upstream_provider != usual_providers.usual_provider
),

found as (
    select * from offences
    union all
    select trials.trial_id, batch_id, trials.study, reason, detail from trials
    inner join cell_offences using (batch_id, cell)
    where
        reason = status
        or (reason = 'upstream_providers' and trial_id in (select served_elsewhere.trial_id from served_elsewhere))
)

select found.trial_id, found.batch_id, found.study, reasons.severity, reason, found.detail from found
inner join reasons using (reason)
