-- One row per audited trial that was asked another question than its labels say. What a prompt asks is what more than
-- half of the LLMs have under it; where some have several things under it, and not most agree, it says nothing. Where
-- as many say one thing as another, the LLM is wrong that is wrong elsewhere, else nobody knows who is. Where the text
-- is kept, the anchor stands in it.
with trials as (
    select * from {{ ref('gate_asked') }}
    where prompt_hash is not null
),

prompts as (
    select * from {{ source('raw', 'prompts') }}
    where prompt_kind = 'message'
),

asked as (
    select
        {{ ['study', 'vignette', 'llm', 'technique', 'question', 'direction'] | join(', ') }},
        anchor_value,
        prompt_hash,
        count(*) as n
    from trials
    group by all
),

-- a few mistaken labels do not take an LLM's voice
voices as (
    select
        {{ ['study', 'prompt_hash', 'llm', 'about', 'said'] | join(', ') }},
        sum(n) >= 0.9 * sum(sum(n)) over (partition by study, prompt_hash, llm, about) as is_heard,
        count(distinct llm) over (partition by study, prompt_hash, about) as n_asking
    from asked
    unpivot (said for about in (question, direction))
    group by {{ ['study', 'prompt_hash', 'llm', 'about', 'said'] | join(', ') }}
),

votes as (
    select
        {{ ['study', 'prompt_hash', 'about', 'said'] | join(', ') }},
        count(*) filter (where is_heard) as n_llms,
        any_value(n_asking) as n_asking
    from voices
    group by all
),

agreed as (
    select
        {{ ['study', 'prompt_hash', 'about'] | join(', ') }},
        arg_max(said, n_llms) as asks,
        max(n_llms) as most,
        2 * most > any_value(n_asking) as is_agreed
    from votes
    group by all
    having count(*) > 1 and (is_agreed or sum(n_llms) = any_value(n_asking))
),

wrong as (
    select
        voices.*,
        agreed.asks,
        agreed.is_agreed,
        bool_or(agreed.is_agreed) over (partition by voices.study, voices.llm, voices.about) as is_wrong_elsewhere
    from voices
    inner join agreed using (study, prompt_hash, about)
    where voices.said != agreed.asks or not agreed.is_agreed
),

-- an open vote is lost by who is wrong elsewhere, or else by all
held as (
    select * from wrong
    qualify is_wrong_elsewhere or not bool_or(is_wrong_elsewhere) over (partition by study, prompt_hash, about)
),

-- where others have one anchor with a prompt, it is part of the prompt; of two LLMs the one is wrong that has another
-- anchor than with its other techniques
anchors as (
    select
        *,
        count(distinct technique) over (partition by study, vignette, llm) > 1
        and count(distinct technique) over (partition by study, vignette, llm, anchor_value) = 1 as is_alone
    from asked
    where anchor_value is not null
),

other_anchors as (
    select anchors.*, min(others.anchor_value) as asks from anchors
    inner join anchors as others using (study, prompt_hash)
    where anchors.is_alone and anchors.llm != others.llm
    group by all
    having asks = max(others.anchor_value) and asks != any_value(anchors.anchor_value)
),

written as (
    select
        anchors.*,
        list_has_any(
            {{ numbers_in('prompts.text') }}, [anchor_value, 100 * anchor_value, 1000 * anchor_value]
        ) as is_written
    from anchors
    inner join prompts using (study, prompt_hash)
),

-- a text may write its anchors in words: then nothing is said of any
unwritten as (
    select * from written
    qualify not is_written and avg(is_written::int) over (partition by study, vignette) > 0.5
),

found as (
    select
        trials.*,
        concat('asks ', held.asks, if(held.is_agreed, '', ' or something else'), ', not ', held.said) as detail
    from trials
    inner join held using (study, llm, prompt_hash)
    where held.said = if(held.about = 'question', trials.question, trials.direction)
    {% for wrong, anchor in [('other_anchors', "'the anchor ' || asks"), ('unwritten', "'another anchor'")] %}
    union all
    select trials.*, concat('asks with ', {{ anchor }}, ', not ', anchor_value) as detail
    from trials
    inner join {{ wrong }} using (study, vignette, llm, technique, prompt_hash, anchor_value)
    {% endfor %}
)

select trial_id, batch_id, study, min('prompt ' || prompt_hash || ' ' || detail) as detail from found
where is_new
group by all
