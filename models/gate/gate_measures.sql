-- One row per audited batch and check: the value, of some checks that of the worst cell, that Great Expectations holds
-- against the thresholds, how many offend, a sample of their trials, and what is wrong in words.
-- a version that only removes brings a batch without a trial
with cells as (
    select batches.batch_id, cells.cell, coalesce(cells.n_trials, 0) as n_trials
    from {{ ref('gate_batches') }} as batches
    left join {{ ref('gate_cells') }} as cells using (batch_id)
    where batches.is_new
),

cell_offences as (
    select * from {{ ref('gate_cell_offences') }}
    union all by name
    select * from {{ ref('gate_removed') }}
),

-- of a batch's details the first by `place` is shown: of trials that of the first cell, of cells that of the worst one,
-- and of equals the last
findings as (
    select
        batch_id,
        cell,
        reason as check_name,
        count(*) as value,
        count(*) as n_offending,
        min(trial_id, 5) as sample,
        min(detail) as detail,
        row_number() over (order by cell) as place
    from {{ ref('gate_offences') }}
    group by batch_id, cell, reason
    union all
    select batch_id, cell, reason, value, n, sample, detail, row_number() over (order by value desc, cell desc) as place
    from cell_offences
),

measured as (
    select
        cells.batch_id,
        checks.check_name,
        any_value(checks.over) as over_what,
        any_value(checks.measure) as measure,
        max(coalesce(findings.value, 0))::double as value_of_worst,
        coalesce(sum(findings.n_offending), 0)::bigint as n_offending,
        sum(cells.n_trials) as n_trials,
        flatten(list(coalesce(findings.sample, []) order by cells.cell))[:5] as sample,
        first(findings.detail order by findings.place) as detail
    from cells
    cross join {{ source('gate', 'checks') }} as checks
    left join findings
        on
            cells.batch_id = findings.batch_id and cells.cell is not distinct from findings.cell
            and checks.check_name = findings.check_name
    group by cells.batch_id, checks.check_name
)

select
    batch_id,
    check_name,
    case
        when over_what in ('cell', 'vignette') then value_of_worst
        when measure = 'share' then coalesce(n_offending / nullif(n_trials, 0), 0)
        else n_offending::double
    end as value,
    n_offending,
    sample,
    detail
from measured
