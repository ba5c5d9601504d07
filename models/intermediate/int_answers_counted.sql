-- One row per study, paradigm, measure, llm, vignette, technique, arm, item, row set and distinct value, of the
-- paradigms whose goals are in per cent of an arm: how many trials gave it (null = no answer), and the range in which
-- an answer is valid.
with outcomes as (
    select *, {{ a_row_each(["'accepted'", "'without_suspects'"]) }} as row_set from {{ ref('int_outcomes_measured') }}
    where not is_quarantined
),

paradigms as (
    select study, paradigm, measure from {{ ref('stg_paradigms') }}
    where relative_to is not null
),

vignettes as (
    select study, vignette, domain, valid_min, valid_max from {{ ref('int_vignettes_defined') }}
)

select
    outcomes.study,
    outcomes.paradigm,
    outcomes.measure,
    outcomes.llm,
    outcomes.vignette,
    outcomes.technique,
    outcomes.arm,
    outcomes.item,
    outcomes.row_set,
    outcomes.value,
    vignettes.domain,
    vignettes.valid_min,
    vignettes.valid_max,
    count(*) as n_trials
from outcomes
inner join paradigms using (study, paradigm, measure)
left join vignettes using (study, vignette)
where outcomes.row_set = 'accepted' or not outcomes.is_flagged
group by all
