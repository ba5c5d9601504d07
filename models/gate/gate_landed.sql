-- One row per trial that an audit may look at, as it was landed, with its text by its hash and what its line says
-- beside the number, all of it as a hash too. Of document A's SACD only the beginning of the last reply is kept; its
-- first paragraph states the answer, or says nothing of what follows it.
{% set said = namespace(in_line='json(line)::varchar') %}
{% for run in ['%d', '"%d"'] %}
{% for end in [',', '}'] %}
{% set written = (':' ~ run ~ end).split('%d') | join("', replicate, '") %}
{% set said.in_line = "replace(" ~ said.in_line ~ ", concat('" ~ written ~ "'), ':" ~ end ~ "')" %}
{% endfor %}
{% endfor %}
select
    * replace (md5_number(response_text) as response_text, null::uhugeint as first_text),
    {
        'session_id': session_id,
        'llm_returned': llm_returned,
        'anchor_baseline': anchor_baseline,
        'anchor_n_trials': anchor_n_trials,
        'replicate': replicate,
        'prompt_hash': prompt_hash,
        'finished_at': finished_at,
        'text_length': length(response_text),
        -- all that a line says but its run number, and an id even where that is the same number
        'said_hash': case
            when source != 'recorded' then hash(order_index, finished_at)
            else hash({{ said.in_line }}, line ->> '$.id')
        end,
        {% for name, path, type in [
            ('number_before', 'originalResponse', 'double'),
            ('flag_out_of_range', 'outOfRange', 'boolean'),
            ('flag_min', 'validRange.min', 'double'),
            ('flag_max', 'validRange.max', 'double'),
        ] %}
        '{{ name }}': case when source = 'recorded' then try_cast(line ->> '$.{{ path }}' as {{ type }}) end,
        {% endfor %}
        'paragraph': case
            when
                source = 'recorded' and technique = 'sacd'
                and (line ->> '$.iterationDetails[#-1].biasDetected') = 'true'
                then split_part(line ->> '$.iterationDetails[#-1].rawResponse', chr(10) || chr(10), 1)
        end
    } as landed
from {{ ref('stg_trials') }}
