-- One row per audited batch and check: the values, one for each cell, that Great Expectations holds against the
-- thresholds, how many offend, a sample of their trials, and what is wrong in words.
with checks as (
    select * from {{ source('gate', 'checks') }}
),

cells as (
    select batch_id, llm, technique, direction, n_trials from {{ ref('gate_cells') }}
),

findings as (
    select * from {{ ref('gate_findings') }}
),

totals as (
    select
        batch_id,
        check_name,
        sum(n_offending) as n_offending,
        flatten(list(sample order by llm, technique, direction))[:5] as sample,
        first(detail order by place) as detail
    from findings
    group by all
),

sizes as (
    select batch_id, sum(n_trials) as n_trials from cells
    group by all
)

select
    cells.batch_id,
    checks.check_name,
    list(
        case
            when checks.over = 'cell' then coalesce(findings.value, 0)
            when checks.measure = 'share' then coalesce(totals.n_offending, 0) / sizes.n_trials
            else coalesce(totals.n_offending, 0)
        end::double
    ) as values_of_cells,
    coalesce(any_value(totals.n_offending), 0)::bigint as n_offending,
    coalesce(any_value(totals.sample), []) as sample,
    any_value(totals.detail) as detail
from cells
inner join sizes using (batch_id)
cross join checks
left join findings using (batch_id, llm, technique, direction, check_name)
left join totals using (batch_id, check_name)
group by all
