-- One row per audited batch and check: the values, one for each cell, that Great Expectations holds against the
-- thresholds, how many offend, a sample of their trials, and what is wrong in words.
with checks as (
    select * from {{ source('gate', 'checks') }}
),

cells as (
    select * from {{ ref('gate_cells') }}
),

offences as (
    select * from {{ ref('gate_offences') }}
),

cell_offences as (
    select * from {{ ref('gate_cell_offences') }}
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
        list(trial_id order by trial_id)[:5] as sample,
        min(detail) as detail,
        row_number() over (order by cell) as place
    from offences
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
        list(coalesce(findings.value, 0)::double) as values_of_cells,
        coalesce(sum(findings.n_offending), 0)::bigint as n_offending,
        sum(cells.n_trials) as n_trials,
        flatten(list(coalesce(findings.sample, []) order by cell))[:5] as sample,
        first(findings.detail order by findings.place) as detail
    from cells
    cross join checks
    left join findings using (batch_id, cell, check_name)
    group by all
)

select
    batch_id,
    check_name,
    case
        when over_what = 'cell' then values_of_cells
        when measure = 'share' then repeat([n_offending / n_trials], len(values_of_cells))
        else repeat([n_offending::double], len(values_of_cells))
    end as values_of_cells,
    n_offending,
    sample,
    detail
from measured
