-- One row per trial whose answer stands in a sequence that is also another's: that of another LLM, technique or
-- temperature, or of earlier runs of its own cell. Fives of runs are looked for at every place; what those that are
-- found at one distance hold is summed up, in nats by the distribution of their own cell (Shannon 1948; equal answers
-- hold nothing), less what the choice of as many of all fives gives to chance (the union bound). Where more than half
-- of the LLMs have something in common run by run, such as the items that were asked about, it is no copy.
{% set places = {
    'llm': "'those of ' || others.llm", 'technique': "'with ' || others.technique",
    'temperature': "'at temperature ' || others.temperature", 'nth': "'in earlier runs of the cell'",
} %}
{% set labels = 'study, vignette, direction, llm, technique' %}
{% set cell = labels ~ ', item, temperature' %}
with labels as (
    select distinct {{ labels }}, anchored_cell from {{ ref('gate_kinds') }}
),

numbered as (
    select
        anchored_cell, trial_id, number, asked_at, is_new,
        coalesce(temperature, -1) as temperature,
        coalesce(item, '') as item,
        ln(count(*) over of_cell / count(*) over (partition by anchored_cell, item, temperature, number)) as nats,
        row_number() over (of_cell order by replicate, asked_at, trial_id) - 1 as nth
    from {{ ref('gate_trials') }}
    where {{ is_countable() }}
    window of_cell as (partition by anchored_cell, item, temperature)
    qualify nth < 200
),

answers as (
    select * from numbered
    inner join labels using (anchored_cell)
),

fives as (
    select {{ cell }}, nth, is_new, asked_at, hash(list(number) over five) as said, sum(nats) over five as nats
    from answers
    window five as (partition by {{ cell }} order by nth rows between current row and 4 following)
    qualify count(*) over five = 5 and min(number) over five < max(number) over five
),

-- the one that was asked later is doubted, or what is colder
doubted as (
    select * from fives
    where nth % 5 = 0 and is_new
),

pairs as (
    {% for place, words in places.items() %}
    select
        doubted.* exclude (said, asked_at, is_new),
        {{ 'null' if place == 'nth' else 'doubted.' ~ place ~ '::varchar' }} as one,
        {{ words }} as other,
        {{ words | replace('others', 'doubted') if place in ('llm', 'technique') else 'null' }} as mirrored,
        struct_pack(others.llm, others.technique) as copied,
        doubted.nth - others.nth as distance
    from doubted
    inner join fives as others
        using (study, vignette, item, direction, said, {{ places | reject('in', [place, 'nth']) | join(', ') }})
    where
        (doubted.nth = others.nth or doubted.nats > 4)
        {% if place == 'temperature' %}
        and doubted.temperature < others.temperature
        {% elif place == 'nth' %}
        and doubted.nth >= others.nth + 5
        {% else %}
        and doubted.{{ place }} != others.{{ place }}
        and (coalesce(doubted.asked_at, now()), doubted.{{ place }})
        > (coalesce(others.asked_at, now()), others.{{ place }})
        {% endif %}
    {% if not loop.last %}
    union all
    {% endif %}
    {% endfor %}
),

compared as (
    select study, vignette, llm, count(*) as n, count(*) over (partition by study, vignette) as n_llms from doubted
    group by study, vignette, llm
),

beyond_chance as (
    select study, vignette, llm, one, other, distance from pairs
    inner join compared using (study, vignette, llm)
    group by study, vignette, llm, one, other, distance
    having
        sum(nats) + ln(getvariable('same_p')) > any_value(lgamma(n + 1)) - lgamma(count(*) + 1)
        - lgamma(greatest(any_value(n) - count(*), 0) + 1)
    qualify
        other like 'at temperature%'
        or 2 * count(distinct llm) over (partition by study, vignette, distance) <= greatest(any_value(n_llms), 2)
),

found as (
    select * from pairs
    semi join beyond_chance
        on {{ same_in('pairs', 'beyond_chance', ['study', 'vignette', 'llm', 'one', 'other', 'distance']) }}
),

-- which of two LLMs, or techniques, is the copy is not known
copies as (
    select * from found
    union all
    select * replace (copied['llm'] as llm, copied['technique'] as technique, nth - distance as nth, mirrored as other)
    from found
    where mirrored is not null
)

select answers.trial_id, 'the same answers in the same order as ' || min(copies.other) as detail from answers
inner join copies
    on
        {{ same_in('answers', 'copies', cell.split(', ')) }} and answers.nth - copies.nth between 0 and 4
group by answers.trial_id
