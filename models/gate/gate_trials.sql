-- One row per trial of the batches that an audit looks at, with all that its kind says of it. A view: what a query does
-- not ask for is never put together.
with answers as (
    select * from {{ ref('gate_answers') }}
),

kinds as (
    select * exclude (n) from {{ ref('gate_kinds') }}
)

select * from answers
inner join kinds using (kind)
