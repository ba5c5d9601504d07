-- What counts once is judged once: no place of a quantity is judged otherwise than the place that counts.
with checks as (
    select * from {{ ref('claim_checks') }}
)

select document, quantity, published_value, count(*) as n
from checks
where n_places > 1
group by
    document, kind, quantity, part, unit, comparison, published_value, recomputed_value, recommended_value, n_places
having count(distinct coalesce(holds, '') || recomputes) > 1
