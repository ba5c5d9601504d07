-- One row per trial of a paradigm that measures whether answers are correct: what the answer says of its item, whether
-- that is right, how confident the LLM says it is, and whether the item was published before the LLM's texts end.
-- Whatever else an endpoint returned is a wrong answer; where it returned nothing, or was not asked, there is none.
{% set not_asked = "'context_length', 'empty_text', 'one_sentence', 'fewer_words_than_chunks'" %}
{% set tagged = '^[^\\pL]*(true|false)[^\\pL]*\\[(?:high|low) confidence\\][^\\pL]*$' %}
with paradigms as (
    select distinct study, paradigm from {{ ref('stg_paradigms') }}
    where measure in ('is_correct', 'strict_correct')
),

said as (
    select
        trials.*,
        items.pair,
        items.is_true,
        items.correct,
        items.published_at,
        lower(trials.response_text) as lower_text,
        coalesce(
            lower(trials.response_label), nullif(regexp_extract(lower_text, '{{ tagged }}', 1), '')
        ) as label,
        nullif(regexp_extract(label, '^(true|false)(?:[^0-9A-Za-z_]|$)', 1), '') as verdict
    from {{ ref('int_trials_identified') }} as trials
    inner join paradigms on trials.study = paradigms.study and trials.paradigm = paradigms.paradigm
    left join {{ ref('stg_items') }} as items on trials.study = items.study and trials.item = items.item
    where trials.role is null
)

select
    said.trial_id,
    said.study,
    said.paradigm,
    said.llm,
    said.vignette,
    said.item,
    said.technique,
    said.temperature,
    said.asked_at,
    said.is_quarantined,
    coalesce(said.pair, said.item) as pair,
    said.is_true,
    {{ knowledge_period('said.published_at', 'cutoffs.cutoff') }} as period,
    said.status != 'failed' and coalesce(said.reason, '') not in ({{ not_asked }}) as has_reply,
    said.verdict = 'true' as says_true,
    case when said.label is not null then nullif(regexp_extract(lower_text, '\[(high|low) confidence\]', 1), '') end
        as confidence,
    case
        when not has_reply or (said.is_true is null and said.correct is null) then null
        when said.is_true is not null then coalesce((said.verdict = 'true') = said.is_true, false)
        else coalesce(said.label = lower(said.correct), false)
    end as is_right,
    case
        when not has_reply then said.reason
        when is_right is null then 'no_correct_answer_known'
    end as reason
from said
left join {{ ref('knowledge_cutoffs') }} as cutoffs on said.llm = cutoffs.llm
