-- One row per accepted trial that was asked for log-probabilities: the numbers that the LLM held most likely where its
-- answer stands, with their probabilities, and the share of its probability that lies on none of them; else the reason.
{% set tokens %}
    {"content": [{"token": "VARCHAR", "logprob": "DOUBLE", "top_logprobs": [{"token": "VARCHAR", "logprob": "DOUBLE"}]}]}
{% endset %}
{% set number_token = '^[\\sĠ▁]*([$€£]?\\d+(?:[.,]\\d+)*%?)\\s*$' %}  -- some endpoints write a leading space as Ġ or ▁
with asked as (
    select distinct trial_id from {{ ref('stg_calls') }}
    where
        logprobs is not null
        or (contains(parameters::varchar, '"top_logprobs"') and parameters ->> '$.top_logprobs' is not null)
),

last_calls as (
    select trial_id, from_json(logprobs, '{{ tokens | trim }}')['content'] as content from {{ ref('stg_calls') }}
    semi join asked using (trial_id)
    qualify row_number() over (partition by trial_id order by error is not null, turn desc, attempt desc) = 1
),

answers as (
    select trials.*, last_calls.content
    from {{ ref('int_trials_directed') }} as trials
    inner join last_calls using (trial_id)
    where not trials.is_quarantined
),

-- every token that is a number, with what stands before and after it
places as (
    select
        trial_id,
        llm,
        response_unit,
        response,
        unnest(
            list_transform(
                list_filter(
                    range(1, len(content) + 1),
                    lambda spot: regexp_matches(content[spot]['token'], '{{ number_token }}')
                ),
                lambda spot: {
                    'place': spot,
                    'token': content[spot]['token'],
                    'before': content[spot - 1]['token'],
                    'after': concat(content[spot + 1]['token'], content[spot + 2]['token']),
                    'logprob': content[spot]['logprob'],
                    'others': content[spot]['top_logprobs']
                }
            ),
            recursive := true
        )
    from answers
    where status = 'answered'
),

candidates as (
    select
        trial_id,
        llm,
        response_unit,
        place,
        unnest(list_append(others, struct_pack(token := token, logprob := logprob))) as candidate
    from places
),

-- an endpoint may name a token twice
weighed as (
    select
        trial_id,
        llm,
        response_unit,
        place,
        candidate['token'] as token,
        nullif(regexp_extract(candidate['token'], '{{ number_token }}', 1), '') as text,
        exp(max(candidate['logprob']) filter (where isfinite(candidate['logprob']))) as probability
    from candidates
    where candidate['token'] is not null
    group by all
),

texts as (
    select distinct text, response_unit from weighed
    where text is not null
),

readings as (
    select
        text,
        response_unit,
        struct_extract({{ read_response('text', "nullif(response_unit, 'unknown')") }}, 'response') as number
    from texts
),

numbers as (
    select weighed.*, readings.number
    from weighed
    inner join readings using (text, response_unit)
),

-- where every token has one digit, a token that was not chosen may begin a longer number
tokenizers as (
    select llm, max(len(regexp_extract_all(text, '\d'))) > 1 as has_whole_numbers
    from numbers
    group by all
),

-- an LLM that was seen to write a number in pieces may begin one with any token that is as long as its first piece
first_pieces as (
    select distinct llm, len(regexp_extract(token, '\d+')) as n_digits
    from places
    where
        regexp_matches(token, '\d$')
        and regexp_matches(after, '^\d')
        and not regexp_matches(coalesce(before, ''), '\d$')
),

matching as (
    select places.*, numbers.probability, count(*) over (partition by places.trial_id) as n_places
    from places
    inner join numbers
        on
            places.trial_id = numbers.trial_id
            and places.place = numbers.place
            and places.token = numbers.token
            and places.response = numbers.number
),

-- the answer where another number stands in one of the places that it may have been read from
altered as (
    select
        matching.trial_id,
        matching.place,
        translate(
            concat(
                array_to_string(list_transform(answers.content[:matching.place - 1], lambda one: one['token']), ''),
                regexp_replace(
                    matching.token,
                    '\d(\D*)$',
                    case when regexp_matches(matching.token, '1\D*$') then '2\1' else '1\1' end
                ),
                array_to_string(list_transform(answers.content[matching.place + 1:], lambda one: one['token']), '')
            ),
            'Ġ▁Ċ',
            e'  \n'
        ) as text,
        struct_extract({{ read_response('text', "nullif(matching.response_unit, 'unknown')") }}, 'response') as number
    from matching
    inner join answers using (trial_id)
    where matching.n_places > 1
),

-- a number belongs to the answer if changing it changes the reading; of several such places the first one
said as (
    select matching.*
    from matching
    left join altered using (trial_id, place)
    qualify
        row_number() over (
            partition by matching.trial_id
            order by matching.response is not distinct from altered.number, matching.place
        ) = 1
),

possible as (
    select
        answers.trial_id,
        numbers.number,
        round(sum(numbers.probability), 12) as probability
    from answers
    inner join said using (trial_id)
    inner join numbers on said.trial_id = numbers.trial_id and said.place = numbers.place
    left join first_pieces
        on answers.llm = first_pieces.llm and len(regexp_extract(numbers.text, '^\d+$')) = first_pieces.n_digits
    where
        numbers.number between coalesce(answers.valid_min, '-inf') and coalesce(answers.valid_max, 'inf')
        and numbers.probability > 0
        and (
            numbers.token = said.token
            or first_pieces.n_digits is null
            or 10 * numbers.number > coalesce(answers.valid_max, 'inf')
        )
    group by all
),

listed as (
    select
        trial_id,
        list(number order by number) as numbers,
        list(probability order by number) as probabilities
    from possible
    group by all
),

judged as (
    select
        answers.*,
        listed.numbers,
        listed.probabilities,
        round(1 - list_sum(listed.probabilities), 12) as mass_left,
        case
            when answers.status != 'answered' then 'not_answered'
            when coalesce(len(answers.content), 0) = 0 then 'no_log_probabilities'
            when answers.note_read in ('range_midpoint', 'years_as_months', 'number_word') then 'number_not_as_written'
            when
                said.trial_id is null
                or regexp_matches(said.after, '^[.,]?\d')
                or (regexp_matches(said.token, '^\d') and regexp_matches(said.before, '\d[.,]?$'))
                or (not tokenizers.has_whole_numbers and coalesce(answers.valid_max, 'inf') > 9)
                then 'several_tokens'
            when said.probability is null or mass_left is null or mass_left < -0.001 then 'not_probabilities'
        end as reason_unread
    from answers
    left join said using (trial_id)
    left join tokenizers on answers.llm = tokenizers.llm
    left join listed on answers.trial_id = listed.trial_id
)

select
    trial_id,
    study,
    llm,
    vignette,
    technique,
    anchor_direction,
    anchor_value,
    temperature,
    response_unit,
    case when reason_unread is null then greatest(mass_left, 0) end as missing_mass,
    coalesce(reason_unread, case when missing_mass > {{ most_missing() }} then 'mass_missing' end) as reason,
    case when reason is null then numbers end as numbers,
    case when reason is null then probabilities end as probabilities
from judged
