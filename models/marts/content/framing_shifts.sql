-- One row per answer whose framing is another than that of its text, with both texts. The clearest stand first: those
-- on whose two labels most judges agree, and of these the ones whose text got the new label in most of its answers.
with judged as (
    select * from {{ ref('int_framings_judged') }}
    where is_counted and answer_label is not null
),

trials as (
    select trial_id, response_text from {{ ref('int_trials_identified') }}
),

paradigms as (
    select study, paradigm, any_value(text_field) as text_field from {{ ref('stg_paradigms') }}
    group by all
),

items as (
    select * from {{ ref('stg_items') }}
),

compared as (
    select
        *,
        count(*) over (partition by study, paradigm, item, answer_label)
        / count(*) over (partition by study, paradigm, item) as share_of_answers
    from judged
)

select
    compared.study,
    compared.paradigm,
    compared.llm,
    compared.technique,
    compared.item,
    compared.trial_id,
    compared.source_label,
    compared.answer_label,
    json_extract_string(items.fields, '$."' || paradigms.text_field || '"') as source_text,
    trials.response_text as answer_text,
    compared.agreement,
    compared.share_of_answers,
    row_number() over (
        partition by compared.study, compared.paradigm
        order by compared.agreement desc, compared.share_of_answers desc, compared.item asc, compared.trial_id asc
    ) as place
from compared
inner join trials using (trial_id)
inner join paradigms using (study, paradigm)
inner join items using (study, item)
where compared.is_changed
