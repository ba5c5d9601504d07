-- One row per trial and demand that the LLM was asked to judge before it answered: too low, just right or too high.
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where not is_quarantined
),

lines as (
    select trial_id, line -> '$.result' as result from {{ ref('stg_trials') }}
    where source = 'recorded' and json_exists(line, '$.params.prosecutorRecommendationMonths')
),

measures (measure, key) as (
    values
    ('prosecutor_evaluation', 'prosecutorEvaluation'),
    ('defense_attorney_evaluation', 'defenseAttorneyEvaluation')
),

answers as (
    select trials.trial_id, string_agg(calls.response_text, ' ' order by calls.turn) as text
    from trials
    inner join {{ ref('stg_batches') }} as batches using (batch_id)
    left join {{ ref('stg_calls') }} as calls on trials.trial_id = calls.trial_id and calls.error is null
    where batches.definition ->> '$.answer_format' = 'story-001'
    group by all
),

judged as (
    select
        answers.trial_id,
        measures.measure,
        regexp_extract(answers.text, '(?s:.*)"' || measures.key || '"\s*:\s*"([^"]*)"', 1) as evaluation
    from answers
    cross join measures
    union all
    select lines.trial_id, measures.measure, lines.result ->> ('$.' || measures.key) as evaluation from lines
    cross join measures
),

valued as (
    select
        trials.* exclude (reason),
        judged.measure,
        case
            when trials.status != 'answered' then null
            when judged.evaluation = 'too low' then -1.0
            when judged.evaluation = 'just right' then 0.0
            when judged.evaluation = 'too high' then 1.0
        end::double as value,
        case when trials.status != 'answered' then trials.reason when value is null then 'no_evaluation' end as reason
    from trials
    inner join judged using (trial_id)
)

select {{ declared_columns() }} from valued
