-- One row per trial of a paradigm that is measured by judgements: the label of the text that it was given, that of its
-- answer, and whether they differ. Of equal answers to one item one is judged, for all of them.
with judged_paradigms as (
    select distinct study, paradigm from {{ ref('stg_paradigms') }}
    where measured_from = 'judgement'
),

-- a version that claims are about is a study of its own, of the same paradigms
paradigms as (
    select study, paradigm from judged_paradigms
    union all
    select distinct versions.cited_study as study, judged_paradigms.paradigm
    from judged_paradigms
    inner join {{ ref('int_versions_cited') }} as versions on judged_paradigms.study = versions.study
),

answers as (
    select
        texts.study,
        landed.item,
        landed.response_text,
        min_by(
            {{ struct_of({'label': 'texts.label', 'agreement': 'texts.agreement', 'reason': 'texts.reason'}) }},
            texts.judged
        ) as judgement
    from {{ ref('int_texts_judged') }} as texts
    inner join {{ ref('stg_trials') }} as landed on texts.judged = landed.trial_id
    where texts.role = 'answer'
    group by all
)

select
    trials.trial_id,
    trials.study,
    trials.paradigm,
    trials.llm,
    trials.vignette,
    trials.item,
    trials.technique,
    trials.arm,
    trials.is_quarantined,
    trials.is_flagged,
    originals.label as source_label,
    case when trials.status = 'answered' then answers.judgement.label end as answer_label,
    source_label != answer_label as is_changed,
    originals.agreement * answers.judgement.agreement as agreement,
    not trials.is_quarantined and source_label is not null as is_counted,
    case
        when trials.status != 'answered' then coalesce(trials.reason, trials.status)
        when originals.judged is null then 'original_not_judged'
        when originals.label is null then 'original_has_no_label'
        when answers.judgement is null then 'not_judged'
        else answers.judgement.reason
    end as reason
from {{ ref('int_trials_identified') }} as trials
inner join paradigms on trials.study = paradigms.study and trials.paradigm = paradigms.paradigm
left join {{ ref('int_texts_judged') }} as originals
    on trials.study = originals.study and trials.item = originals.judged and originals.role = 'original'
left join answers
    on
        trials.study = answers.study
        and trials.item = answers.item
        and trials.response_text = answers.response_text
where trials.role is null
