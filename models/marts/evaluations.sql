-- One row per trial and demand that the LLM was asked to judge before it answered: too low, just right or too high.
{%- set keys = {
    'prosecutor_evaluation': 'prosecutorEvaluation',
    'defense_attorney_evaluation': 'defenseAttorneyEvaluation',
} %}
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where not is_quarantined
),

batches as (
    select batch_id from {{ ref('stg_batches') }}
    where definition ->> '$.answer_format' = 'story-001'
),

calls as (
    select * from {{ ref('stg_calls') }}
    where error is null
),

lines as (
    select
        trial_id,
        line -> '$.result' as result
    from {{ ref('stg_trials') }}
    where source = 'recorded' and json_exists(line, '$.params.prosecutorRecommendationMonths')
),

said as (
    select
        trials.trial_id,
        {% for measure, key in keys.items() %}
        max_by(
            regexp_extract(calls.response_text, '(?s:.*)"{{ key }}"\s*:\s*"([^"]*)"', 1), calls.turn
        ) filter (where contains(calls.response_text, '"{{ key }}"')) as {{ measure }}{{ ',' if not loop.last }}
        {% endfor %}
    from trials
    inner join batches using (batch_id)
    left join calls using (trial_id)
    group by all
    union all
    select
        trial_id,
        {% for measure, key in keys.items() %}
        result ->> '$.{{ key }}' as {{ measure }}{{ ',' if not loop.last }}
        {% endfor %}
    from lines
),

judged as (
    {% for measure in keys %}
    select trial_id, '{{ measure }}' as measure, {{ measure }} as evaluation from said
    {{ 'union all' if not loop.last }}
    {% endfor %}
),

valued as (
    select
        trials.trial_id,
        trials.study,
        trials.llm,
        trials.vignette,
        trials.technique,
        trials.anchor_direction,
        trials.anchor_value,
        trials.temperature,
        judged.measure,
        case when trials.status = 'answered' then
            case judged.evaluation when 'too low' then -1.0 when 'just right' then 0 when 'too high' then 1 end
        end as value,
        case
            when trials.status != 'answered' then trials.reason
            when value is null then 'no_evaluation'
        end as reason
    from trials
    inner join judged using (trial_id)
)

select {{ declared_columns() }} from valued
