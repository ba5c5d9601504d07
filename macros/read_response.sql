{# The one place where a number is read from an LLM's answer: pure Jinja that expands to one DuckDB expression, which
   `ingest` renders too. Strongest first: JSON, a final line or phrase, a refusal, the last number that can be meant.
   Rules are RE2 fragments (no lookaround); a wrong number is worse than none. #}
{% macro read_response(text) -%}
    list_transform([{{ read__as_plain_text(text) }}], lambda plain:
        list_transform([{{ read__without_what_is_no_answer('plain') }}], lambda kept:
            list_transform([coalesce(
                {{ read__json_answer('plain') }},
                {{ read__last_number('kept', read__final_phrase()) }},
                {{ read__last_number('kept', read__line_of_its_own()) }}
            )], lambda final:
                list_transform([final is null and {{ read__is_refusal('kept') }}], lambda is_refusal:
                    list_transform([case
                        when final is not null or is_refusal then final
                        else coalesce(
                            {{ read__last_number(read__without_side_numbers('kept'), read__number()) }},
                            {{ read__last_number('kept', read__number()) }}
                        )
                    end], lambda response:
                        case
                            when coalesce(trim(plain, e' \n'), '') = ''
                                then {{ read__outcome('null', 'unparsed', "'no_text'") }}
                            when response is not null
                                then {{ read__outcome('response', 'answered', 'null') }}
                            when is_refusal then {{ read__outcome('null', 'refused', "'refused'") }}
                            else {{ read__outcome('null', 'unparsed', "'no_number'") }}
                        end
                    )[1]
                )[1]
            )[1]
        )[1]
    )[1]
{%- endmacro %}


{# One type for every outcome, so that a column of them is one. #}
{% macro read__outcome(response, status, reason) -%}
    {'response': {{ response }}::double, 'status': '{{ status }}', 'reason': {{ reason }}::varchar}
{%- endmacro %}


{# Markdown and controls become one space, dashes and quotes ASCII: they carry no number, and RE2 knows ASCII best. #}
{% macro read__as_plain_text(text) -%}
    regexp_replace(
        replace(translate({{ text }}, '–‒‑−’‘ʼ“”', '----''''''""'), '—', ' - '),
        '(?:[\x00-\x09\x0b-\x20\x7f-\x{a0}\p{Cf}\p{Z}*`]|__|~~)+', ' ', 'g'
    )
{%- endmacro %}


{# A number with thousands groups or a decimal part; a full stop after it is the sentence's. #}
{% macro read__digits() -%} \d+(?:[.,]\d+)* {%- endmacro %}


{# What may stand between a number and the next word of a range. #}
{% macro read__unit() -%} (?: *-?(?:k|m|months?|mos?|points?|pts?|%|percent|dollars|thousand)\b)? {%- endmacro %}


{# A range first, since it answers with its midpoint, else one number; `72/100` and `72 out of 100` are one number. #}
{% macro read__value() -%}
    (?i:
    {%- set digits, unit = read__digits(), read__unit() -%}
    between (?:about )?[$€£]? ?{{ digits }}{{ unit }} +and [$€£]? ?{{ digits }}|
    {{- digits }} ?k? *- *[$€£]? ?{{ digits }}|
    {{- digits }}{{ unit }} +to +[$€£]? ?{{ digits }}|
    {{- digits -}}
    )(?: *(?:/|out of) *[$€£]?{{ digits }})?
{%- endmacro %}


{# A minus is a sign only where no word, number or bracket ends before it: `COVID-19` and `24-month` have none. #}
{% macro read__number() -%} ((?:(?:^|[\s:=(\[])-[$€£]?)?{{ read__value() }}) {%- endmacro %}


{# `115,000` has thousands groups, `12,5` a decimal comma; `1,2345` and `3.2.1` are no numbers and are not guessed. #}
{% macro read__as_double(digits) -%}
    case
        when not contains({{ digits }}, ',') then try_cast({{ digits }} as double)
        when regexp_full_match({{ digits }}, '[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?')
            then try_cast(replace({{ digits }}, ',', '') as double)
        when regexp_full_match({{ digits }}, '\d+,\d{1,2}') then try_cast(replace({{ digits }}, ',', '.') as double)
    end
{%- endmacro %}


{# One number is its own mean, a range has its midpoint; what follows `/` or `out of` is the scale. #}
{% macro read__value_of(match) -%}
    list_avg(list_transform(
        regexp_extract_all(regexp_replace({{ match }}, '(?i) *(?:/|out of).*', ''), '{{ read__digits() }}'),
        lambda digits: {{ read__as_double('digits') }}
    )) * case when regexp_matches({{ match }}, '^[^\d]*-') then -1 else 1 end
{%- endmacro %}


{# The last first group, because reasoning comes before its result; overflowing numbers are none. #}
{% macro read__last_number(text, pattern) -%}
    list_filter(
        list_transform(
            regexp_extract_all({{ text }}, '{{ pattern }}', 1),
            lambda match: {{ read__value_of('match') }}
        ),
        lambda number: isfinite(number)
    )[-1]
{%- endmacro %}


{# Asked for JSON, an LLM names its answer by a key; a text value counts only if it holds one number or range. #}
{% macro read__json_answer(plain) -%}
    case when contains({{ plain }}, '"') then
        list_filter(
            list_transform(
                regexp_extract_all(
                    {{ plain }},
                    '(?i)"(?:answer|response|sentenceMonths|final|value)"\s*:\s*("[^"\d-]*-?[$€£]?{{ read__value() }}[^"\d]*"|-?\d+(?:\.\d+)?e[+-]?\d+|-?{{ read__digits() }})',
                    1
                ),
                lambda match: coalesce(try_cast(match as double), {{ read__value_of('match') }})
            ),
            lambda number: isfinite(number)
        )[-1]
    end
{%- endmacro %}


{# What LLMs call their answer. #}
{% macro read__label() -%}
    (?:answer|response|recommendation|recommended (?:sentence|amount|salary|score|offer)|sentence|decision|verdict|
    {{- 'judge?ment|offer|score|rating|amount|salary|number|estimate|figure' }})
{%- endmacro %}


{# `Answer: 24` anywhere, `Sentence: 24 months` at the start of a line, `my final offer is 24`: said to be the answer. #}
{% macro read__final_phrase() -%}
    (?i:
    {{- '(?:answer|boxed) ?' }}(?:[:={]| - )|
    {{- '(?:^|\\n)[ #]*(?:(?:my|the|final|revised|recommended|proposed|priority|probation|loan) )*' -}}
    {{ read__label() }} ?(?:[:=]| - |\n)|
    {{- '(?:my|final|the final|revised) (?:[a-z]+ )?' -}}
    {{ read__label() }} ?(?:[:=]|(?:is|was|would be|will be|remains|stays at)\b)
    {{- ')\\s*(?i:(?:i|would|say|impose|about|around|approximately|roughly|exactly|an?|sentence|term|score|of|to|set|' -}}
    offer|approve|recommend|at|still|therefore|thus) )*(-?(?:[$€£] ?)?{{ read__value() }})
{%- endmacro %}


{# Told to answer with a number only, an LLM that explains all the same puts the number on a line of its own. #}
{% macro read__line_of_its_own() -%}
    (?:^|\n)\s*(-?(?:[$€£] ?)?{{ read__value() }})(?i:{{ read__unit() }})(?: (?:of|on) [a-z]+)?[ .]*(?:\n|$)
{%- endmacro %}


{# Each fragment names numbers that cannot be the answer; all are dropped in one pass. #}
{% macro read__without_what_is_no_answer(plain) -%}
    regexp_replace(
        regexp_replace({{ plain }}, '(?i)(\d)(k|m|mos?|months?|pts?|points?|usd|percent)\b', '\1 \2', 'g'),
        '{{ read__thoughts() }}|{{ read__quoted_lines() }}|{{ read__list_numbers() }}|{{ read__scales() }}|
        {{- read__what_it_was_before() }}|{{ read__dates_and_times() }}|{{ read__ordinals_and_words() }}|
        {{- read__numbered_things() }}',
        ' ', 'g'
    )
{%- endmacro %}


{# Thinking aloud is not the answer. #}
{% macro read__thoughts() -%} (?is:< ?think ?>.*?</ ?think ?>) {%- endmacro %}


{# A quoted line repeats the question. #}
{% macro read__quoted_lines() -%} (?m:^ ?>.*$) {%- endmacro %}


{# `3. Because` numbers an argument; `24.` alone on its line is an answer. #}
{% macro read__list_numbers() -%} (?m:^[ #-]*\d{1,2}[.)] +[^\s\d]) {%- endmacro %}


{# `on a scale of 1 to 100` tells how to read a score. #}
{% macro read__scales() -%} (?i:\bscale (?:of |from |between )?\d+ *(?:-|to|and) *\d+|\(\d+ ?- ?\d+\)) {%- endmacro %}


{# `reduced from 36 to 24` is a change, not a range: what it was before is dropped. #}
{% macro read__what_it_was_before() -%}
    (?i:\b(?:reduc|lower|increas|rais|adjust|revis|chang|mov|cut)[a-z]*[^.\n\d]{0,60}\bfrom [$€£]?
    {{- read__digits() }}{{ read__unit() }} +(?:down +|up +)?to\b)
{%- endmacro %}


{# Dates and times of day are no quantities; a year alone stays ambiguous. #}
{% macro read__dates_and_times() -%}
    (?:\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}:\d{2}\b)
{%- endmacro %}


{# `12th` counts offences; `B2B`, `GPT4` and `COVID-19` are names. #}
{% macro read__ordinals_and_words() -%}
    (?:\b\d+(?:[.,]\d+)*[A-Za-z][A-Za-z0-9]*|\b[A-Za-z]+\d[A-Za-z0-9.]*\b|\b[A-Z]{2,}-\d+(?:\.\d+)*)
{%- endmacro %}


{# `Step 3` and `Section 12` are names of places in a text. #}
{% macro read__numbered_things() -%}
    (?i:\b(?:step|iteration|round|option|section|article|part|stage|factor|question) ?#?\d+(?:\.\d+)*)
{%- endmacro %}


{# `15%`, `34-year-old`, `100 hours`, `11 prior` stand beside an answer; they are read only if there is nothing else. #}
{% macro read__without_side_numbers(text) -%}
    regexp_replace(
        {{ text }},
        '(?i)(?:{{ read__digits() }} *(?:-|to) *)?{{ read__digits() }}(?: ?%|[ -]?(?:percent|years?[ -]old|hours?|days?|prior|previous|offen[cs]es|convictions)\b)',
        ' ', 'g'
    )
{%- endmacro %}


{# An LLM that declines often repeats the anchor, so this comes before the numbers; `I cannot go above 36` declines
   that number only, so such clauses do not count. #}
{% macro read__is_refusal(kept) -%}
    case when regexp_matches({{ kept }}, '(?i)\b(?:can ?not|can''t|won''t|will not|unable|not able|not comfortable|not appropriate|declin|refuse|don''t think)') then
        regexp_matches(
            regexp_replace({{ kept }}, '{{ read__limits() }}', ' ', 'g'),
            '(?i)(?:\b(?:i|we)\b(?:''m)?(?: [a-z'']+){0,4}? ?|as an ai\b[^.!?\n]{0,80}?|(?:^|[\n.!?:,;"]) *)\b(?:can ?not|can''t|won''t|will not|unable to|not able to|not comfortable|not appropriate|declin(?:e|ing)|refuse|don''t think (?:it''s|it is|i can|i should|providing))\b[^.!?\n]{0,60}?\b(?:{{ read__refused_deeds() }})|\b(?:i|we)\b(?: [a-z'']+){0,4} (?:decline|refuse)\b *(?:[.,!;\n]|$)'
        )
    else false end
{%- endmacro %}


{# What is declined when the number is declined. #}
{% macro read__refused_deeds() -%}
    (?:provid|recommend|determin|assign|giv|offer|suggest|answer|mak|set|decid|generat|produc|specif|state|name|assess|
    {{- 'estimat|help|assist|comply|participat|fulfil|do (?:this|that|so)\\b)[a-z]*' -}}
{%- endmacro %}


{# `cannot recommend more than 36` and `won't recommend the 36 months` decline one number, not to answer. #}
{% macro read__limits() -%}
    (?i:(?:can ?not|can''t|won''t|will not) [a-z]+ (?:[a-z]+ ){0,4}?
    {{- '(?:(?:more|less|longer|higher|lower|greater|fewer) than|above|below|beyond|over|under|exceeding|the|a|an|full) ' -}}
    (?:the |a |an |full )?[$€£]?\d)
{%- endmacro %}
