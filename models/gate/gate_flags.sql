-- One row per trial and reason to flag it: what is wrong with the trial itself, and the trials because of which their
-- cell is above a threshold.
with offences as (
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

calls as (
    select trial_id, upstream_provider from {{ ref('stg_calls') }}
    where error is null and upstream_provider is not null
),

reasons as (
    select reason, severity from {{ ref('flag_reasons') }}
),

served as (
    select trials.batch_id, trials.llm, calls.upstream_provider, count(*) as n from trials
    inner join calls using (trial_id)
    group by all
),

providers as (
    select batch_id, llm, first(upstream_provider order by n desc, upstream_provider asc) as usual_provider from served
    group by all
),

served_elsewhere as (
    select distinct trials.trial_id from trials
    inner join calls using (trial_id)
    inner join providers using (batch_id, llm)
    where calls.upstream_provider != providers.usual_provider
),

of_cells as (
    select trials.trial_id, batch_id, trials.study, reason, detail from trials
    inner join cell_offences using (batch_id, cell)
    where
        reason = status
        or (reason = 'upstream_providers' and trial_id in (select served_elsewhere.trial_id from served_elsewhere))
),

flagged as (
    select * from offences
    union all
    select * from of_cells
)

select trial_id, batch_id, study, severity, reason, detail from flagged
inner join reasons using (reason)
