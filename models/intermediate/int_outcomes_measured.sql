-- One row per trial of a paradigm that has measures, measure of it and instrument (null = none is needed): the value
-- that its answer comes to, and the flags of the gate. Anchoring has no such measures, and a judgement is no answer
-- of its own. Whether both halves of a pair are right is a value of the authentic one.
with instruments as (
    select distinct study, instrument from {{ ref('stg_measurements') }}
),

similarities as (
    select trial_id, instrument, measure, value as similarity, reason from {{ ref('int_similarities_derived') }}
),

asked as (
    select
        trials.*,
        paradigms.measure,
        paradigms.measured_from,
        paradigms.counted_labels,
        instruments.instrument
    from {{ ref('int_trials_identified') }} as trials
    inner join {{ ref('stg_paradigms') }} as paradigms using (study, paradigm)
    left join instruments on trials.study = instruments.study and paradigms.measured_from = 'measurement'
    where trials.role is null
)

select
    asked.trial_id,
    asked.study,
    asked.paradigm,
    asked.measure,
    asked.instrument,
    asked.llm,
    asked.vignette,
    asked.item,
    asked.technique,
    asked.arm,
    asked.anchor_value,
    asked.temperature,
    asked.domain,
    asked.valid_min,
    asked.valid_max,
    asked.is_quarantined,
    asked.is_flagged,
    case
        when asked.measured_from = 'judgement' then framings.is_changed::integer::double
        when asked.measured_from = 'measurement' then similarities.similarity
        when asked.measure = 'is_correct' then facts.is_right::integer::double
        when asked.measure = 'strict_correct'
            then (fact_pairs.is_authentic_right and fact_pairs.is_falsified_right)::integer::double
        when asked.answer_kind = 'number' then asked.response
        when asked.answer_kind = 'text' then null
        else array_contains(asked.counted_labels, asked.response_label)::integer::double
    end as value,
    case
        when value is not null then null
        when asked.reason is not null then asked.reason
        when asked.measured_from = 'judgement' then framings.reason
        when asked.measured_from = 'measurement' then coalesce(similarities.reason, 'not_measured')
        when asked.measure = 'is_correct' then facts.reason
        when asked.measure = 'strict_correct' then 'half_a_pair'
        else 'not_measured'
    end as reason
from asked
left join similarities
    on
        asked.trial_id = similarities.trial_id
        and asked.measure = similarities.measure
        and asked.instrument = similarities.instrument
left join {{ ref('int_framings_judged') }} as framings on asked.trial_id = framings.trial_id
left join {{ ref('int_facts_checked') }} as facts on asked.trial_id = facts.trial_id
left join {{ ref('int_fact_pairs_checked') }} as fact_pairs
    on asked.trial_id = fact_pairs.trial_id and fact_pairs.is_complete
where asked.measure != 'strict_correct' or facts.is_true is not false
