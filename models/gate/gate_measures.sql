-- One row per audited batch and check: the value, of some checks that of the worst cell, that Great Expectations holds
-- against the thresholds, how many offend, a sample of their trials, and what is wrong in words.
-- a version that only removes brings a batch without a trial
with cells as (
    select batches.batch_id, cells.cell, coalesce(cells.n_trials, 0) as n_trials
    from {{ ref('gate_batches') }} as batches
    left join {{ ref('gate_cells') }} as cells using (batch_id)
    where batches.is_new
),

-- of a batch's details the first by `place` is shown: of trials that of the first cell, of cells that of the worst one,
-- and of equals the last
findings as (
    select
        batch_id,
        cell,
        reason as check_name,
        count(*) as value,
        count(*) as n,
        min(trial_id, 5) as sample,
        min(detail) as detail,
        row_number() over (order by cell) as place
    from {{ ref('gate_offences') }}
    group by batch_id, cell, reason
    {% for model in ('gate_cell_offences', 'gate_removed') %}
    union all
    select batch_id, cell, reason, value, n, sample, detail, row_number() over (order by value desc, cell desc) as place
    from {{ ref(model) }}
    {% endfor %}
)

select
    cells.batch_id,
    checks.check_name,
    coalesce(sum(findings.n), 0)::bigint as n_offending,
    case
        when checks.over in ('cell', 'vignette') then max(coalesce(findings.value, 0))::double
        when checks.measure = 'share' then coalesce(n_offending / nullif(sum(cells.n_trials), 0), 0)
        else n_offending::double
    end as value,
    flatten(list(coalesce(findings.sample, []) order by cells.cell))[:5] as sample,
    first(findings.detail order by findings.place) as detail
from cells
cross join {{ source('gate', 'checks') }} as checks
left join findings
    on
        cells.batch_id = findings.batch_id and cells.cell is not distinct from findings.cell
        and checks.check_name = findings.check_name
group by cells.batch_id, checks.check_name, checks.over, checks.measure
