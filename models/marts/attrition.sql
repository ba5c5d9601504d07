-- One row per study, llm, vignette, technique and anchor direction: what became of every trial that was asked.
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where not is_quarantined
)

select
    study,
    llm,
    domain,
    vignette,
    technique,
    anchor_direction,
    count(*) as n_asked,
    count(*) filter (where status = 'answered') as n_answered,
    count(*) filter (where status = 'refused') as n_refused,
    count(*) filter (where status = 'unparsed') as n_unparsed,
    count(*) filter (where status = 'out_of_range') as n_out_of_range,
    count(*) filter (where status = 'failed') as n_failed,
    count(*) filter (where status = 'answered') / count(*) as answered_share
from trials
group by all
