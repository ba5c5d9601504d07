-- One row per audited batch, LLM, technique and anchor direction: how many trials, and what became of them.
with trials as (
    select * from {{ ref('gate_trials') }}
    where is_new
)

select
    batch_id,
    study,
    vignette,
    llm,
    technique,
    direction,
    count(*) as n_trials,
    count(*) filter (where status = 'answered') as n_answered,
    count(*) filter (where status = 'refused') as n_refused,
    count(*) filter (where status = 'unparsed') as n_unparsed,
    count(*) filter (where status = 'failed') as n_failed,
    any_value(minimum) as minimum,
    any_value(is_archive) as is_archive,
    bool_or(phase = 'anchored' or phase = 'baselines' or phase is null) as is_complete_phase,
    list(trial_id order by trial_id)[:5] as sample
from trials
group by all
