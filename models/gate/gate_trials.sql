-- One row per trial of the batches that an audit looks at, with all that its kind says of it. A view: what a query does
-- not ask for is never put together.
select answers.*, kinds.* exclude (kind, n)
from {{ ref('gate_answers') }} as answers
inner join {{ ref('gate_kinds') }} as kinds using (kind)
