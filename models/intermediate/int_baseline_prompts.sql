-- One row per study and vignette that was asked with goals, as anchoring has them: whether its unanchored prompt
-- differs from the anchored ones by more than the anchor. What nobody said counts as different, so that nothing is
-- claimed of it.
with asked as (
    select distinct study, paradigm, domain, vignette from {{ ref('counts') }}
    left join {{ ref('stg_paradigms') }} using (study, paradigm, measure)
    where paradigm = 'anchoring' or goals is not null
)

select
    study,
    paradigm,
    asked.domain,
    vignette,
    coalesce(baseline_prompt, 'differs') as baseline_prompt,
    case
        when baseline_prompt is null then 'nobody said whether the unanchored prompt differs'
        when baseline_prompt = 'differs' then differs_by
    end as differs_by
from asked
left join {{ ref('int_vignettes_defined') }} using (study, vignette)
