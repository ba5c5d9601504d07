-- Of an LLM and case a shift is the size of the signed one, and half a gap half of the contrast; over LLMs a mean
-- of sizes is no smaller than the size of the mean. Displacement and gap have the same.
with effects as (
    select * from {{ ref('effects') }}
    where shift is not null
)

select study, domain, goal, llm, vignette, item, technique from effects
where
    shift < abs(signed_shift) - 1e-9
    or half_gap < abs(signed) / 2 - 1e-9
    or (vignette is not null and shift > abs(signed_shift) + 1e-9)
    or (vignette is not null and half_gap > abs(signed) / 2 + 1e-9)
union all
select study, domain, goal, llm, vignette, item, technique from effects
where paradigm = 'anchoring'
window one_place as (partition by study, domain, llm, vignette, item, technique)
qualify
    max(shift) over one_place > min(shift) over one_place + 1e-9
    or max(half_gap) over one_place > min(half_gap) over one_place + 1e-9
