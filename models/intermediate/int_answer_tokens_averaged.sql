-- One row per study, llm, temperature, vignette, technique and anchor whose trials were asked for log-probabilities:
-- the distribution over answers, the mean of those of its trials, in the columns of `soft_expectations`.
with answers as (
    select
        study,
        llm as scoring_set,
        concat_ws('@', llm, temperature) as scoring,
        llm,
        concat_ws('/', vignette, nullif(technique, 'no_technique')) as variation,
        vignette as question,
        anchor_direction,
        anchor_value as anchor,
        response_unit,
        missing_mass,
        numbers,
        probabilities,
        reason,
        dense_rank() over (
            order by study, llm, temperature, vignette, technique, anchor_direction, anchor_value, response_unit
        ) as condition
    from {{ ref('int_answer_tokens_read') }}
),

conditions as (
    select
        * exclude (missing_mass, numbers, probabilities, reason),
        count(*) as n_trials,
        count(numbers) as n_trials_read,
        round(avg(missing_mass), 12) as missing_mass,
        string_agg(distinct reason, '; ' order by reason) as reason
    from answers
    group by all
),

candidates as (
    select
        condition,
        unnest(numbers) as number,
        unnest(list_transform(probabilities, lambda one: one / list_sum(probabilities))) as probability
    from answers
),

summed as (
    select condition, number, sum(probability) as probability from candidates
    group by all
),

listed as (
    select
        condition,
        list(number order by number) as values,
        list(probability order by number) as weights,
        sum(number * probability) as total
    from summed
    group by all
)

select
    conditions.* exclude (reason, condition),
    'api_top_k' as evidence_from,
    'recommended' as specification,
    conditions.n_trials - conditions.n_trials_read <= {{ most_missing() }} * conditions.n_trials as is_enough,
    case when is_enough then listed.values end as numbers,
    case when is_enough then list_transform(listed.weights, lambda one: round(one / conditions.n_trials_read, 12)) end
        as probabilities,
    coalesce(len(numbers), 0) as n_targets,
    case when is_enough then round(listed.total / conditions.n_trials_read, 9) end as soft_ev,
    case when not is_enough then conditions.reason end as reason
from conditions
left join listed using (condition)
