-- One row per trial that an audit may look at, before flags: what was read of it, with its text by its hash, and what
-- its line says beside the number, all of it as a hash too, and its prompt by the hash of the first with these words.
-- Of document A's SACD only the beginning of the last reply is kept; its first paragraph states the answer, or says
-- nothing of what follows it.
{% set said = namespace(in_line='json(line)::varchar') %}
{% for run in ['%d', '"%d"'] %}
{% for end in [',', '}'] %}
{% set written = (':' ~ run ~ end).split('%d') | join("', replicate, '") %}
{% set said.in_line = "replace(" ~ said.in_line ~ ", concat('" ~ written ~ "'), ':" ~ end ~ "')" %}
{% endfor %}
{% endfor %}
with trials as (
    select
        * exclude (
            source_file, source_line, iterations, text_kept, is_look_back, protocol, options_shown, answer_reading,
            is_read, said, number_recorded, number_if_reparsed, status_if_reparsed, first_response,
            is_first_out_of_range
        )
        replace (md5_number(response_text) as response_text)
    from {{ ref('int_trials_read') }}
),

landed as (
    select
        trial_id,
        session_id,
        llm_returned,
        llm_named,
        read_as,
        json_exists(line, '$.read_as') as is_read_by_source,
        anchor_baseline,
        anchor_n_trials,
        replicate,
        coalesce(templates.same_as, trials.prompt_hash) as prompt_hash,
        finished_at,
        length(response_text) as text_length,
        -- all that a line says but its run number, and an id even where that is the same number
        case
            when source != 'recorded' then hash(order_index, finished_at)
            else hash({{ said.in_line }}, line ->> '$.id')
        end as said_hash,
        {% for name, path, type in [
            ('number_before', 'originalResponse', 'double'),
            ('flag_out_of_range', 'outOfRange', 'boolean'),
            ('flag_min', 'validRange.min', 'double'),
            ('flag_max', 'validRange.max', 'double'),
        ] %}
        case when source = 'recorded' then try_cast(line ->> '$.{{ path }}' as {{ type }}) end as {{ name }},
        {% endfor %}
        case
            when
                source = 'recorded' and technique = 'sacd'
                and (line ->> '$.iterationDetails[#-1].biasDetected') = 'true'
                then split_part(line ->> '$.iterationDetails[#-1].rawResponse', chr(10) || chr(10), 1)
        end as paragraph
    from {{ ref('stg_trials') }} as trials
    left join {{ source('gate', 'templates') }} as templates
        on
            trials.study = templates.study and trials.prompt_hash = templates.prompt_hash
            and templates.is_anchored = (trials.anchor_value is not null)
)

select * from trials
inner join landed using (trial_id)
