-- One row per study, llm, vignette, technique and direction of the anchor in which some trials have no valid answer:
-- how many, and the range in which these could have been.
with attrition as (
    select * from {{ ref('attrition') }}
),

vignettes as (
    select study, vignette, valid_min, valid_max from {{ ref('int_vignettes_defined') }}
)

select
    attrition.study,
    attrition.domain,
    attrition.llm,
    attrition.vignette,
    attrition.technique,
    attrition.anchor_direction,
    attrition.n_asked - attrition.n_answered as n_missing,
    vignettes.valid_min,
    vignettes.valid_max
from attrition
left join vignettes using (study, vignette)
where attrition.paradigm = 'anchoring' and attrition.n_asked > attrition.n_answered
