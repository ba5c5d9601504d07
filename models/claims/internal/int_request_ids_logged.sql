-- One row per study that claims are about and row set: the share of trials with the endpoint's own id of a request.
with trials as (
    select * from {{ ref('int_trials_claimed') }}
),

-- a trial of a cited version is called otherwise than the trial that its calls are of
cited as (
    select cited_trial_id, trial_id as called from {{ ref('int_trials_cited') }}
),

calls as (
    select distinct trial_id as called from {{ ref('stg_calls') }}
    where request_id is not null
),

logged as (
    select trials.study, trials.row_set, calls.called is not null as has_request_id
    from trials
    left join cited on trials.trial_id = cited.cited_trial_id
    left join calls on coalesce(cited.called, trials.trial_id) = calls.called
)

select
    study,
    row_set,
    count(*) as n_trials,
    100.0 * count(*) filter (where has_request_id) / count(*) as percent_with_request_id
from logged
group by all
