-- One row per trial that an audit may look at, as it was landed, with its text by its hash and what its line says
-- beside the number. Of document A's SACD only the beginning of the last reply is kept; its first paragraph states the
-- answer, or says nothing of what follows it.
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
