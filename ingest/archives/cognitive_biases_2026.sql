-- Answers of eight LLMs to wordings of twelve biases, and beside each, by its place in the list, what its authors read.
-- Their lists leave failures out, so that a reading may stand beside another answer: the gate says where. Of an interval
-- it counts whether it holds the true value: the one that ends a line, else the one in bold, else any of numbers of that
-- size; where these do not agree, none. Of a list of proposals it is the one whose number stands on a line of its own,
-- where one does. What was asked in each wording without a strategy is in prompts.json; nobody says what a strategy
-- adds to it.
with biases (bias, paradigm, arms) as (
    values
    ('anchoring', 'anchoring_facts', ['none', 'number']),
    ('availability_heuristic', 'availability', ['plain', 'vivid']),
    ('representativeness', 'representativeness', ['plain', 'described']),
    ('overconfidence', 'overconfidence', ['plain', 'expert']),
    ('framing_effect', 'framing', ['gain', 'loss']),
    ('sunk_cost_fallacy', 'sunk_cost', ['nothing_spent', 'much_spent']),
    ('status_quo_bias', 'status_quo', ['no_status_quo', 'in_place']),
    ('decoy_effect', 'decoy', ['no_decoy', 'for_large']),
    ('confirmation_bias', 'confirmation', ['neutral', 'believer']),
    ('bandwagon_effect', 'bandwagon', ['alone', 'crowd']),
    ('authority_bias', 'authority', ['nobody', 'authority']),
    ('primacy_recency', 'primacy', ['of_two', 'alone'])
),

lists as (
    select filename, bias_name as bias, model_name as llm_named, strategy, timestamp as asked_at, arm,
        variant.variant_id as item,
        if(arm = 1, variant.control_responses, variant.treatment_responses) as answers,
        if(arm = 1, to_json(variant.control_parsed), to_json(variant.treatment_parsed)) as readings
    from (
        select *, unnest([1, 2]) as arm
        from (select * exclude (variants), unnest(variants) as variant from source)
    )
),

wordings as (
    select record ->> '$.name' as bias, wording ->> '$.id' as item,
        unnest([1, 2]) as arm, unnest([wording ->> '$.control', wording ->> '$.treatment']) as prompt
    from (select record, unnest(record -> '$.variants[*]') as wording from source where json_exists(record, '$.bias_type'))
),

answered as (
    select * exclude (answers, readings), unnest(answers) as text, unnest(readings -> '$[*]') ->> '$' as read_as,
        unnest(range(1, 1 + len(answers))) as replicate
    from lists
),

truths (item, truth) as (values ('overconfidence_v1', 6650), ('overconfidence_v2', 1440), ('overconfidence_v3', 78.37)),

intervals as (
    select
        '\d+(?:\.\d+)?' as number, '(?: *(?:°? ?C|km|kilometers|degrees Celsius))?' as unit,
        concat('(', number, unit, '\**(?: *[-–—] *| to | and )\**', number, unit, ')') as interval,
        [
            concat('(?m)^(?:.*:)?[^\w\n-]*', interval, '[^\w\n]*$'), concat('\*\*[^\w\n*-]*', interval, '[^\w\n]*?\*\*'),
            concat('\b(', interval, '(?: *(?:mi|%))?)')
        ] as places
),

holding as (
    select
        text, item,
        list_transform(places, lambda place: list_transform(
            list_filter(
                list_transform(
                    list_filter(
                        regexp_extract_all(regexp_replace(text, ',(\d{3})', '\1', 'g'), place, 1),
                        lambda said: not regexp_matches(said, '(?:mi|%)$')
                    ),
                    lambda said: regexp_extract_all(said, number)::double[]
                ),
                lambda ends: truth / 4 < ends[1] and ends[1] < ends[2] and ends[2] < 4 * truth
            ),
            lambda ends: truth between ends[1] and ends[2]
        )) as by_place,
        list_distinct(list_filter(by_place, lambda found: len(found) > 0)[1]) as found,
        case when len(found) = 1 then found[1] end as holds_truth
    from (select distinct text, item from answered)
    inner join truths using (item)
    cross join intervals
),

told as (
    select answered.*, paradigm, arms, holds_truth, if(strategy = 'baseline', prompt, null) as prompt,
        map {'framing_v4': 'framing_ratings', 'framing_v5': 'framing_ratings', 'primacy_v2': 'primacy_ratings',
            'primacy_v3': 'primacy_choice'}[item] as of_item,
        list_distinct(regexp_extract_all(text, '(?m)^[^\w\n]*([1-5])[^\w\n]*$', 1)::int[]) as numbers,
        [['europe', 'research', 'costs', 'marketing', 'talent'], ['costs', 'marketing', 'talent', 'research', 'europe']]
            [arm] as proposals
    from answered inner join biases using (bias) left join holding using (text, item)
    left join wordings using (bias, item, arm)
)

select
    filename, 'cognitive_biases_2026' as source_name, item, replicate, text, prompt, read_as, llm_named, asked_at,
    concat_ws('/', bias, llm_named, strategy, item, arm, replicate) as own_id, 0.7 as temperature,
    coalesce(of_item, paradigm) as paradigm, coalesce(of_item, paradigm) as vignette,
    coalesce(map {'primacy_ratings': ['as_listed', 'reordered'], 'primacy_choice': ['europe_first', 'europe_last']}
        [of_item], arms)[arm] as arm,
    map {'claude-3.5-sonnet': 'anthropic/claude-sonnet-4-20250514', 'mistral-large': 'mistral-large-latest',
        'llama-3.1-8b': 'llama-3.1-8b-instant', 'llama-3.3-70b': 'llama-3.3-70b-versatile',
        'deepseek-v3-together': 'deepseek-ai/DeepSeek-V3', 'minimax-m2.5': 'MiniMaxAI/MiniMax-M2.5',
        'gemini-2.5-flash': 'gemini-2.5-flash', 'gpt-4.1-mini': 'gpt-4.1-mini'}[llm_named] as llm,
    -- by what the source's code puts before or behind a question: D3 warns of the bias by name, D4 gives a role
    map {'baseline': 'no_technique', 'D1_cot': 'chain_of_thought', 'D3_counter': 'bias_warning',
        'D4_role': 'analyst_role'}[strategy] as technique,
    case when arm = 2 then map {'anchoring_v1': 15e6, 'anchoring_v2': 25, 'anchoring_v3': 15, 'anchoring_v4': 500,
        'anchoring_v5': 50}[item] end as anchor_value,
    case
        when of_item = 'primacy_choice' then case when len(numbers) = 1 then proposals[numbers[1]] end
        when holds_truth then 'holds' when not holds_truth then 'misses'
    end as choice
from told
