-- One row per study, llm, domain, paradigm, change and reason: how many trials of published batches a person withdrew
-- or reread after they had been seen. What was withdrawn is in no other table, whether it was reread before or not.
with changes as (
    select trial_id, 'withdrawn' as change, why from {{ ref('stg_withdrawn_trials') }}
    union all
    select trial_id, 'reread' as change, why from {{ ref('stg_reread_trials') }}
    anti join {{ ref('stg_withdrawn_trials') }} using (trial_id)
)

select study, llm, domain, paradigm, change, why, count(*) as n_trials
from {{ ref('int_trials_read') }}
inner join changes using (trial_id)
semi join {{ ref('int_trials_admitted') }} using (trial_id)
anti join {{ ref('stg_left_out_trials') }} using (trial_id)
group by all
