-- noqa: disable=LT02
-- One row per claim, part and version of the source (cited, newest) that has an estimate: what is recomputed under the
-- paper's specification, and what the recommended one gives.
select
    asked.claim_id,
    asked.part,
    asked.of_version,
    any_value(estimates.value) filter (where asked.purpose = 'published') as recomputed_value,
    any_value(estimates.n_trials) filter (where asked.purpose = 'published') as n_trials,
    any_value(estimates.value) filter (where asked.purpose = 'recommended') as recommended_value,
    any_value(estimates.low) filter (where asked.purpose = 'recommended') as recommended_low,
    any_value(estimates.high) filter (where asked.purpose = 'recommended') as recommended_high,
    any_value(estimates.n_llms) filter (where asked.purpose = 'recommended') as n_llms
from {{ ref('int_claim_specifications') }} as asked
inner join {{ ref('estimates') }} as estimates
    on {{ same_in('asked', 'estimates', estimate_keys()) }}
group by all
