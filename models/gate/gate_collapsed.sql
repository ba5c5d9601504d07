-- One row per audited answer, at a temperature above 0, of a cell that gives one long text again and again where most
-- of its study do not, or run by run what it gives at another temperature: perhaps a cache answered. A text that its
-- LLM gives elsewhere too, but for its numbers, is a form: LLMs repeat those.
{% set cell = 'anchored_cell, item, judged, temperature' %}
with forms as (
    select trial_id, hash(translate(response_text, '0123456789', '')) as form from {{ ref('stg_trials') }}
    where length(response_text) >= getvariable('collapsed_text')
),

answers as (
    select
        * exclude (replicate),
        row_number() over (partition by {{ cell }} order by replicate, asked_at, trial_id) as nth
    from {{ ref('gate_trials') }}
    left join forms using (trial_id)
    where status = 'answered'
),

compared as (
    select
        *,
        count(*) over of_cell as n,
        count(form) over (partition by {{ cell }}, text_hash) as n_same,
        form is not null and min(temperature) over run < max(temperature) over run as is_echo,
        min((anchored_cell, item)) over said != max((anchored_cell, item)) over said as is_form
    from answers
    window
        of_cell as (partition by {{ cell }}),
        run as (partition by anchored_cell, item, judged, nth, text_hash),
        said as (partition by study, llm, form)
),

measured as (
    select
        *,
        n_same / n as share,
        median(n_same / n) over (partition by study) as usual_share,
        count(*) filter (where is_echo) over (partition by {{ cell }}) / n as share_of_echoes
    from compared
)

select
    trial_id,
    batch_id,
    study,
    if(is_echo, 'its text at another temperature', n_same || ' of ' || n || ' answers are this text')
    || ', at temperature ' || temperature as detail
from measured
where
    is_new and form is not null and not is_form and temperature > 0 and n >= getvariable('collapsed_least')
    and (
        (share >= getvariable('collapsed_share') and usual_share < 0.5)
        or (is_echo and share_of_echoes >= getvariable('collapsed_share'))
    )
