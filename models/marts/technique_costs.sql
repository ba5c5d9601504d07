-- One row per study, llm and technique of collected trials: what a trial took, failed and repeated calls included. A
-- mean over trials is null where any of them lacks the figure.
with trials as (
    select trial_id, study, llm, technique, iterations from {{ ref('int_trials_identified') }}
),

calls as (
    select
        trial_id,
        count(*) as n_calls,
        count(error) as n_failed_calls,
        sum(tokens_in) as tokens_in,
        sum(tokens_out) as tokens_out,
        bool_and(error is not null or (tokens_in is not null and tokens_out is not null)) as has_tokens,
        sum(latency_s) as latency_s,
        sum(cost_usd) as cost_usd,
        bool_and(error is not null or cost_usd is not null) as has_costs
    from {{ ref('stg_calls') }}
    group by all
),

summed as (
    select
        trials.study,
        trials.llm,
        trials.technique,
        count(*) as n_trials,
        sum(calls.n_calls)::bigint as n_calls,
        sum(calls.n_failed_calls)::bigint as n_failed_calls,
        sum(calls.n_calls) / count(*) as calls_per_trial,
        avg(trials.iterations) as iterations_per_trial,
        case when bool_and(calls.has_tokens) then coalesce(sum(calls.tokens_in), 0) / count(*) end
            as tokens_in_per_trial,
        case when bool_and(calls.has_tokens) then coalesce(sum(calls.tokens_out), 0) / count(*) end
            as tokens_out_per_trial,
        sum(calls.latency_s) / count(*) as latency_s_per_trial,
        case when bool_and(calls.has_costs) then coalesce(sum(calls.cost_usd), 0) / count(*) end as cost_usd_per_trial
    from trials
    inner join calls using (trial_id)
    group by all
)

select
    *,
    {{ reasons([
        ("iterations_per_trial is null", "no_iterations"),
        ("tokens_in_per_trial is null", "tokens_not_reported"),
        ("latency_s_per_trial is null", "latency_not_recorded"),
        ("cost_usd_per_trial is null", "price_not_known"),
    ]) }} as reason
from summed
