-- One row per trial of a paradigm that has measures, and measure of it: the value that its answer comes to, and the
-- flags of the gate. Anchoring has no such measures, and a judgement is no answer of its own.
with trials as (
    select * from {{ ref('int_trials_identified') }}
    where role is null
),

paradigms as (
    select * from {{ ref('stg_paradigms') }}
),

valued as (
    select
        trials.trial_id,
        trials.study,
        trials.paradigm,
        paradigms.measure,
        trials.llm,
        trials.vignette,
        trials.item,
        trials.technique,
        trials.arm,
        trials.is_quarantined,
        trials.is_flagged,
        case trials.answer_kind
            when 'number' then trials.response
            when 'text' then null
            else list_contains(paradigms.counted_labels, trials.response_label)::integer::double
        end as value,
        case when value is null then coalesce(trials.reason, 'not_measured') end as reason
    from trials
    inner join paradigms using (study, paradigm)
)

select * from valued
