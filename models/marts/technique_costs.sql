-- One row per study, llm and technique of collected trials, judgements aside: what a trial took, failed and repeated
-- calls included. A mean over trials is null where any of them lacks the figure. What an answer took is all that the
-- trials of the row took over those of them that were answered: refusals and failures are paid for too.
with trials as (
    select trial_id, study, llm, technique, iterations, status, is_quarantined from {{ ref('int_trials_identified') }}
    where role is null
),

-- what neither the endpoint nor a price told when it was asked is priced by the list as it is now
priced as (
    select
        asked.trial_id,
        asked.error,
        asked.tokens_in,
        asked.tokens_out,
        asked.latency_s,
        coalesce(
            asked.cost_usd,
            (
                asked.tokens_in * prices.usd_per_million_tokens_in
                + asked.tokens_out * prices.usd_per_million_tokens_out
            ) / 1e6
        ) as cost_usd
    from {{ ref('stg_calls') }} as asked
    inner join trials on asked.trial_id = trials.trial_id
    left join {{ ref('prices') }} as prices on trials.llm = prices.llm
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
    from priced
    group by all
),

summed as (
    select
        trials.study,
        trials.llm,
        trials.technique,
        count(*) as n_trials,
        count(*) filter (where trials.status = 'answered' and not trials.is_quarantined) as n_answered,
        sum(calls.n_calls)::bigint as n_calls,
        sum(calls.n_failed_calls)::bigint as n_failed_calls,
        sum(calls.n_calls) / count(*) as calls_per_trial,
        avg(trials.iterations) as iterations_per_trial,
        case when bool_and(calls.has_tokens) then coalesce(sum(calls.tokens_in), 0) end as tokens_in,
        case when bool_and(calls.has_tokens) then coalesce(sum(calls.tokens_out), 0) end as tokens_out,
        sum(calls.latency_s) / count(*) as latency_s_per_trial,
        case when bool_and(calls.has_costs) then coalesce(sum(calls.cost_usd), 0) end as cost_usd
    from trials
    inner join calls using (trial_id)
    group by all
)

select
    {{ all_but(['tokens_in', 'tokens_out', 'cost_usd']) }},
    tokens_in / n_trials as tokens_in_per_trial,
    tokens_out / n_trials as tokens_out_per_trial,
    cost_usd / n_trials as cost_usd_per_trial,
    tokens_in / nullif(n_answered, 0) as tokens_in_per_answer,
    tokens_out / nullif(n_answered, 0) as tokens_out_per_answer,
    cost_usd / nullif(n_answered, 0) as cost_usd_per_answer,
    {{ reasons([
        ("iterations_per_trial is null", "no_iterations"),
        ("tokens_in_per_trial is null", "tokens_not_reported"),
        ("latency_s_per_trial is null", "latency_not_recorded"),
        ("cost_usd_per_trial is null", "price_not_known"),
        ("n_answered = 0", "no_answers"),
    ]) }} as reason
from summed
