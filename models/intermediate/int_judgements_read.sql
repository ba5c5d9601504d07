-- One row per judgement that counts: which judge gave which label to which text, in which role, for which time; and the
-- label that is correct where the text is an item of which that is known.
-- a version that claims are about is a study of its own, of the same items
with items as (
    select study, item, correct from {{ ref('stg_items') }}
    union all
    select distinct versions.cited_study as study, landed.item, landed.correct
    from {{ ref('stg_items') }} as landed
    inner join {{ ref('int_versions_cited') }} as versions using (study)
)

select
    judgements.trial_id,
    judgements.study,
    judgements.paradigm,
    judgements.vignette,
    judgements.technique,
    judgements.role,
    judgements.judged,
    judgements.llm as judge,
    coalesce(judgements.repeat, 0) as repeat,
    judgements.response_label as label,
    items.correct
from {{ ref('int_trials_identified') }} as judgements
left join items on judgements.study = items.study and judgements.judged = items.item
where judgements.role is not null and not judgements.is_quarantined
