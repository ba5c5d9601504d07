-- One row per study that claims are about and row set: the share of trials with the endpoint's own id of a request.
with calls as (
    select distinct trial_id as called from {{ ref('stg_calls') }}
    where request_id is not null
)

select
    trials.study,
    trials.row_set,
    count(*) as n_trials,
    100.0 * count(calls.called) / count(*) as percent_with_request_id
from {{ ref('int_trials_claimed') }} as trials
-- a trial of a cited version is called otherwise than the trial that its calls are of
left join {{ ref('int_trials_cited') }} as cited on trials.trial_id = cited.cited_trial_id
left join calls on coalesce(cited.trial_id, trials.trial_id) = calls.called
group by all
