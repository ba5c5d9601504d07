-- One row per audited batch, check and cell in which something offends: `value` is held against the threshold where
-- the worst cell counts, `n_offending` is summed where the batch does. Of a batch's details the first by `place` is
-- shown.
with checks as (
    select * from {{ source('gate', 'checks') }}
),

trials as (
    select trial_id, batch_id, llm, technique, direction from {{ ref('gate_trials') }}
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

of_trials as (
    select
        batch_id,
        llm,
        technique,
        direction,
        reason as check_name,
        count(*) as value,
        count(*) as n_offending,
        list(trial_id order by trial_id)[:5] as sample,
        min(detail) as detail,
        row_number() over (order by llm, technique, direction) as place
    from offences
    inner join trials using (trial_id)
    group by batch_id, llm, technique, direction, check_name
),

-- the worst cell, and of equals the last one
of_cells as (
    select
        cell_offences.batch_id,
        cell_offences.llm,
        cell_offences.technique,
        cell_offences.direction,
        checks.check_name,
        cell_offences.value,
        case when checks.measure = 'count' then 1 else cell_offences.n end as n_offending,
        coalesce(cells.sample, []) as sample,
        concat_ws(' ', cell_offences.llm, cell_offences.technique, cell_offences.direction)
        || ': ' || cell_offences.detail as detail,
        row_number() over (
            order by
                cell_offences.value desc,
                cell_offences.llm desc,
                cell_offences.technique desc,
                cell_offences.direction desc
        ) as place
    from cell_offences
    inner join checks on cell_offences.reason = checks.check_name
    left join cells using (batch_id, llm, technique, direction)
)

select * from of_trials
union all by name
select * from of_cells
