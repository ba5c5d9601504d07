-- One row per study, role and text that LLMs judged: the label that more of them give it than any other, and the share
-- of the labels given that are this one. Of each judge the first judgement counts.
with judgements as (
    select * from {{ ref('int_judgements_read') }}
    qualify row_number() over (partition by study, role, judged, judge order by repeat, trial_id) = 1
),

votes as (
    select
        study,
        role,
        judged,
        label,
        count(*) as n_judges,
        count(*) / sum(count(*)) over (partition by study, role, judged) as agreement
    from judgements
    where label is not null
    group by study, role, judged, label
),

foremost as (
    select * from votes
    qualify n_judges = max(n_judges) over (partition by study, role, judged)
),

labels as (
    select study, role, judged, case when count(*) = 1 then any_value(label) end as label, max(agreement) as agreement
    from foremost
    group by all
),

texts as (
    select study, role, judged, {{ some_value('correct') }} as correct from judgements
    group by all
)

select
    texts.study,
    texts.role,
    texts.judged,
    labels.label,
    labels.agreement,
    texts.correct,
    case when labels.judged is null then 'no_label' when labels.label is null then 'judges_differ' end as reason
from texts
left join labels using (study, role, judged)
