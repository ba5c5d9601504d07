-- One row per study, paradigm, llm, technique (null = the texts themselves, before any) and way to count tokens: how
-- long the texts are that were put to the LLM, and how long its answers.
with paradigms as (
    select study, paradigm, any_value(text_field) as text_field from {{ ref('stg_paradigms') }}
    where answer_kind = 'text' and text_field is not null
    group by all
),

trials as (
    select * from {{ ref('int_trials_identified') }}
    where role is null and not is_quarantined and status = 'answered'
),

items as (
    select * from {{ ref('stg_items') }}
),

counted as (
    select
        trial_id,
        max(value) filter (where measure = 'text_tokens') as text_tokens,
        max(value) filter (where measure = 'answer_tokens') as answer_tokens
    from {{ ref('stg_measurements') }}
    where instrument = 'tokenizer'
    group by trial_id
),

compared as (
    select
        trials.study,
        trials.paradigm,
        trials.llm,
        trials.technique,
        trials.item,
        json_extract_string(items.fields, '$."' || paradigms.text_field || '"') as text,
        ceil(length(text) / {{ var('characters_per_token') }}) as text_estimate,
        ceil(length(trials.response_text) / {{ var('characters_per_token') }}) as answer_estimate,
        counted.text_tokens,
        counted.answer_tokens
    from trials
    inner join paradigms using (study, paradigm)
    inner join items using (study, item)
    left join counted using (trial_id)
),

sides as (
    select study, paradigm, llm, technique, 'estimate' as counted_by, answer_estimate as n_tokens from compared
    union all
    select study, paradigm, llm, technique, 'tokenizer' as counted_by, answer_tokens as n_tokens from compared
    union all
    select distinct on (study, paradigm, llm, item)
        study, paradigm, llm, null as technique, 'estimate' as counted_by, text_estimate as n_tokens
    from compared
    union all
    select distinct on (study, paradigm, llm, item)
        study, paradigm, llm, null as technique, 'tokenizer' as counted_by, text_tokens as n_tokens
    from compared
    where text_tokens is not null
)

select
    study,
    paradigm,
    llm,
    technique,
    counted_by,
    avg(n_tokens) as mean_tokens,
    median(n_tokens) as median_tokens,
    stddev_samp(n_tokens) as sd_tokens,
    min(n_tokens)::bigint as min_tokens,
    max(n_tokens)::bigint as max_tokens,
    count(*) as n_texts
from sides
where n_tokens is not null
group by all
