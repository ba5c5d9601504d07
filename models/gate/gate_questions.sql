-- One row per audited trial that was asked another question than its labels say. What a prompt asks is what more than
-- half of the LLMs have under it; where some have several things under it, and not most agree, it says nothing. Where
-- as many say one thing as another, the LLM is wrong that is wrong elsewhere, else nobody knows who is. Where the text
-- is kept, the anchor stands in it.
with prompts as (
    select study, prompt_hash, text from {{ source('raw', 'prompts') }}
    where prompt_kind = 'message'
),

trials as (
    select * from {{ ref('gate_asked') }}
    where prompt_hash is not null
),

asked as (
    select study, vignette, llm, technique, question, direction, anchor_value, prompt_hash, count(*) as n from trials
    group by all
),

-- low and high tell something where a technique has them under two prompts, which other LLMs have with other anchors
directions as (
    select
        study, vignette, llm, technique, prompt_hash,
        max(max(anchor_value)) over (partition by study, prompt_hash) as highest,
        highest > min(min(anchor_value)) over (partition by study, prompt_hash) as is_template,
        case when sum(n) >= getvariable('fewest') then arg_max(direction, n) end as usual_direction,
        count(distinct usual_direction) over (partition by study, vignette, llm, technique) as n_apart
    from asked
    where direction in ('low', 'high')
    group by study, vignette, llm, technique, prompt_hash
),

claims as (
    select study, prompt_hash, llm, 'question' as about, question as said, n from asked
    union all
    select asked.study, asked.prompt_hash, asked.llm, 'direction' as about, asked.direction as said, asked.n from asked
    inner join directions using (study, vignette, llm, technique, prompt_hash)
    where directions.is_template and directions.n_apart > 1
),

-- a few mistaken labels do not take an LLM's voice, and a few answers give none
voices as (
    select
        *,
        n_of_llm >= getvariable('fewest') and n >= getvariable('voice_share') * n_of_llm as is_heard,
        count(distinct case when n_of_llm >= getvariable('fewest') then llm end) over of_prompt as n_asking
    from (
        select
            study, prompt_hash, llm, about, said,
            sum(n) as n,
            sum(sum(n)) over (partition by study, prompt_hash, llm, about) as n_of_llm
        from claims
        group by study, prompt_hash, llm, about, said
    ) as counted
    window of_prompt as (partition by study, prompt_hash, about)
),

votes as (
    select study, prompt_hash, about, said, count(*) filter (where is_heard) as n_llms, any_value(n_asking) as n_asking
    from voices
    group by all
),

agreed as (
    select
        study,
        prompt_hash,
        about,
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
        bool_or(agreed.is_agreed and voices.is_heard) over (partition by voices.study, voices.llm, voices.about)
            as is_wrong_elsewhere
    from voices
    inner join agreed using (study, prompt_hash, about)
    -- what is asked with no other prompt shares this one by design, as where a system's prompt was hashed
    semi join voices as others
        on
            {{ same_in('voices', 'others', ['study', 'about', 'said']) }}
            and others.is_heard and voices.prompt_hash != others.prompt_hash
    where voices.said != agreed.asks or not agreed.is_agreed
),

-- an open vote is lost by who is wrong elsewhere, or else by all
held as (
    select * from wrong
    qualify
        is_agreed or is_wrong_elsewhere
        or not bool_or(is_wrong_elsewhere) over (partition by study, prompt_hash, about)
),

-- where others have one anchor with a prompt, it is part of the prompt; of two LLMs the one is wrong that has another
-- anchor than with its other techniques
anchors as (
    select
        *,
        count(distinct technique) over (partition by study, vignette, llm, direction) > 1
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

texts as (
    select anchors.*, {{ numbers_in('prompts.text') }} as numbers from anchors
    inner join prompts using (study, prompt_hash)
),

shared as (
    select study, vignette, flatten(list(list_distinct(numbers))) as numbers_of_all, count(*) as n_texts from texts
    group by all
),

-- a text may write its anchor in words: it is another one where a number stands in its place
unwritten as (
    select
        texts.*,
        list_has_any(
            numbers, list_transform([0.000001, 0.001, 0.01, 1, 100, 1000], lambda unit: round(unit * anchor_value, 9))
        ) as is_written,
        len(list_filter(numbers, lambda x: len(list_filter(numbers_of_all, lambda y: y = x)) < n_texts)) > 0
            as has_another
    from texts
    inner join shared using (study, vignette)
    qualify not is_written and has_another and avg(is_written::int) over (partition by study, vignette) > 0.5
),

found as (
    select
        trials.*,
        if(
            held.is_agreed,
            concat('asks ', held.asks, ', not ', held.said),
            'asks one thing for some LLMs and another for as many, so that it is not known which of them is wrong'
        ) as detail
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
