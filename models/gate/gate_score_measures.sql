-- One row per audited batch of scores and check: the value that Great Expectations holds against the thresholds, how
-- many offend, a sample of them, and what is wrong in words.
select
    batches.batch_id,
    checks.check_name,
    coalesce(sum(offences.n), 0)::double as value,
    coalesce(sum(offences.n), 0)::bigint as n_offending,
    coalesce(list(distinct offences.score_id order by offences.score_id)[:5], []) as sample,
    first(offences.detail order by offences.n desc, offences.detail asc) as detail
from {{ source('gate', 'audited_batches') }} as batches
cross join {{ source('gate', 'checks') }} as checks
left join {{ ref('gate_score_offences') }} as offences
    on batches.batch_id = offences.batch_id and checks.check_name = offences.reason
group by all
