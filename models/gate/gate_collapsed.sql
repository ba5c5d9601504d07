-- One row per audited answer, at a temperature above 0, of a cell that gives one long text again and again where most
-- of its study do not, or run by run what it gives at another temperature: perhaps a cache answered. A text that its
-- LLM gives elsewhere too, but for its numbers, is a form: LLMs repeat those.
with forms as (
    select trial_id, hash(translate(response_text, '0123456789', '')) as form from {{ ref('stg_trials') }}
    where length(response_text) >= getvariable('collapsed_text')
),

answers as (
    select
        trial_id, batch_id, is_new, study, llm, form, text_hash, temperature, replicate, asked_at,
        hash((anchored_cell, item)) as question, hash((anchored_cell, item, judged)) as across
    from {{ ref('gate_trials') }}
    left join forms using (trial_id)
    where status = 'answered'
),

texts as (
    select
        study, llm, form, text_hash, question, across, temperature, count(*) as n_same,
        sum(count(*)) over (partition by across, temperature) as n
    from answers
    group by study, llm, form, text_hash, question, across, temperature
),

-- a text that is given once, at one temperature, is neither repeated nor an echo
suspects as (
    select study, llm, form, text_hash, across from texts
    where form is not null
    group by all
    having sum(n_same) > 1
),

of_forms as (
    select study, llm, form from texts semi join suspects using (study, llm, form)
    group by all
    having min(question) != max(question)
),

usual as (
    select study, sum(n_same) filter (form is null or n_same < n / 2) > sum(n_same) / 2 as is_seldom from texts
    group by study
),

numbered as (
    select
        *, row_number() over (partition by across, temperature order by replicate, asked_at, trial_id) as nth
    from answers semi join suspects using (across)
),

compared as (
    select *, min(temperature) over run < max(temperature) over run as is_echo from numbered
    semi join suspects using (text_hash, across)
    window run as (partition by across, nth, text_hash)
),

echoes as (
    select *, count(*) filter (is_echo) over (partition by across, temperature) as n_echoes from compared
)

select
    trial_id, batch_id, study,
    if(is_echo, 'its text at another temperature', n_same || ' of ' || n || ' answers are this text')
    || ', at temperature ' || temperature as detail
from echoes
inner join texts using (study, llm, form, text_hash, across, temperature)
inner join usual using (study)
anti join of_forms using (study, llm, form)
where
    is_new and temperature > 0 and n >= getvariable('collapsed_least')
    and (
        (n_same >= getvariable('collapsed_share') * n and is_seldom)
        or (is_echo and n_echoes >= getvariable('collapsed_share') * n)
    )
