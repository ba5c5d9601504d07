{# The one place where a number is read from an LLM's answer: pure Jinja that expands to one DuckDB expression, which
   `ingest` renders too. Strongest first: JSON, a final phrase or line, a refusal, what the LLM says it would do, the
   last number that can be meant, a number word. `unit` is the vignette's response_unit, a SQL expression: without one
   nothing is scaled. `note` says how an answered number was made from what was written: range_midpoint,
   thousands_scaled, years_as_months, number_word. Rules are RE2 fragments (no lookaround); a wrong number is worse
   than none. #}
{% macro read_response(text, unit=none) -%}
    list_transform([{{ read__in_the_units_scale(read__as_plain_text(text), unit) }}], lambda plain:
        list_transform([{{ read__without_what_is_no_answer('plain') }}], lambda kept:
            list_transform([coalesce(
                {{ read__json_answers('plain') }},
                {{ read__matches('kept', read__final_phrase()) }},
                {{ read__matches('kept', read__line_of_its_own()) }}
            )], lambda final:
                list_transform([final is null and {{ read__is_refusal('kept') }}], lambda is_refusal:
                    list_transform([{{ read__last_number("case
                        when final is not null or is_refusal then final
                        else coalesce(" ~
                            read__matches('kept', read__own_deed()) ~ ", " ~
                            read__matches(read__without_side_numbers('kept'), read__number()) ~ ", " ~
                            read__matches('kept', read__number()) ~ ", " ~
                            read__number_word('kept') ~ "
                        )
                    end", unit) }}], lambda found:
                        case
                            when coalesce(trim(plain, e' \n'), '') = ''
                                then {{ read__outcome('null', 'unparsed', "'no_text'") }}
                            when found is not null then {{ read__outcome(
                                "found['number']", 'answered', 'null',
                                read__note('found', "final is null and not regexp_matches(kept, '\\d')", unit)
                            ) }}
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
{% macro read__outcome(response, status, reason, note='null') -%}
    {
        'response': {{ response }}::double,
        'status': '{{ status }}',
        'reason': {{ reason }}::varchar,
        'note': {{ note }}::varchar
    }
{%- endmacro %}


{# How the number was made from what was written, for those who want to leave such answers out. #}
{% macro read__note(found, is_word, unit) -%}
    case
        when {{ is_word }} then 'number_word'
        when len(regexp_extract_all({{ found }}['said'], '{{ read__digits() }}')) > 1
            and not regexp_matches({{ found }}['said'], '{{ read__years_and_months() }}') then 'range_midpoint'
        {%- if unit is not none %}
        when {{ found }}['number'] != {{ read__value_of(found ~ "['said']", none) }}
            then case
                when {{ unit }} = 'months' and regexp_matches({{ found }}['said'], '(?i)(?:years?|yrs?)\b')
                    then 'years_as_months'
                else 'thousands_scaled'
            end
        {%- endif %}
    end
{%- endmacro %}


{# Markdown and controls become one space, dashes, quotes and digits ASCII: they carry no number, and RE2 knows ASCII
   best. #}
{% macro read__as_plain_text(text) -%}
    regexp_replace(
        case when strlen({{ text }}) = length({{ text }}) then {{ text }} else replace(
            translate(
                {{ text }},
                '–‒‑−’‘ʼ“”：．％٫٬٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹０１２３４５６７８９',
                '----''''''"":.%.,012345678901234567890123456789'
            ),
            '—', ' - '
        ) end,
        '(?:[\x00-\x09\x0b-\x20\x7f-\x{a0}\p{Cf}\p{Z}*`]|__|~~)+', ' ', 'g'
    )
{%- endmacro %}


{# `72/100` is 72 where the scale is 100 (or unknown); a part of any other scale, as in `4/10 pain`, is no answer. #}
{% macro read__in_the_units_scale(plain, unit) -%}
    {%- set parts = '(?:/|(?i:points? |pts? )?(?i:out of|of)) ?' -%}
    {%- set strip = ", '(\\d) ?" ~ parts ~ "100([.,]?(?:[^\\d.,]|$))', '\\1\\2', 'g')" -%}
    list_transform([{{ plain }}], lambda words: case
        when not regexp_matches(words, '\d ?{{ parts }}\d') then words
        else regexp_replace(
            {%- if unit is none %}
            regexp_replace(words{{ strip }},
            {%- else %}
            case
                when coalesce({{ unit }}, 'of 100') like '%of 100' then regexp_replace(words{{ strip }}
                else words
            end,
            {%- endif %}
            '{{ read__digits() }}(?: ?{{ parts }}[$€£]?{{ read__digits() }})+', ' ; ', 'g'
        )
    end)[1]
{%- endmacro %}


{# A number with groups of three or a decimal part; a full stop after it is the sentence's. #}
{% macro read__digits() -%} (?:\b[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d{1,2})?\b|\d+(?:[.,]\d+)*) {%- endmacro %}


{# What may stand before a number. #}
{% macro read__currency() -%} (?:(?:usd|eur|us ?[$]|[$€£]) ?)? {%- endmacro %}


{# What may stand between a number and the next word, and what of it multiplies. #}
{% macro read__unit() -%}
    (?: *-?(?:{{ read__thousand() }}|{{ read__million() }}|years?|yrs?|months?|mos?|points?|pts?|%|percent|dollars|usd|
    {{- 'euros?|monate?n?|mois|meses)\\b)?' -}}
{%- endmacro %}
{% macro read__thousand() -%} k|thousand|grand|tausend {%- endmacro %}
{% macro read__million() -%} m|mn|mio|millions? {%- endmacro %}


{# `1 year and 6 months` is one number. #}
{% macro read__years_and_months() -%} (?i:\d+[ -]years?,?(?: and)? \d+[ -]months?) {%- endmacro %}


{# A range first, since it answers with its midpoint, else one number. #}
{% macro read__value() -%}
    (?i:
    {%- set currency, number = read__currency(), read__digits() ~ read__unit() -%}
    {{- read__years_and_months() }}|
    {{- 'between (?:about )?' }}{{ currency }}{{ number }} +and {{ currency }}{{ number }}|
    {{- number }}(?:(?: *- *| +to +){{ currency }}{{ number }})?)
{%- endmacro %}


{# A minus is a sign only where no word, number or bracket ends before it: `COVID-19` and `24-month` have none. #}
{% macro read__number() -%} ((?:(?:^|[\s:=(\[])-[$€£]?)?{{ read__value() }}) {%- endmacro %}


{# `115,000`, `115 000` and `1.234.567` have thousands groups, `12,5` and `1.234,5` a decimal comma; `1,2345` and
   `3.2.1` are no numbers and are not guessed. #}
{% macro read__as_double(digits) -%}
    case
        when regexp_full_match({{ digits }}, '\d+(?:\.\d+)?') then try_cast({{ digits }} as double)
        when regexp_full_match({{ digits }}, '[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+)(?:\.\d+)?')
            then try_cast(translate({{ digits }}, ', ', '') as double)
        when regexp_full_match({{ digits }}, '[1-9]\d{0,2}(?:(?:\.\d{3}){2,}|(?:(?:\.\d{3})+|(?: \d{3})+),\d+)')
            then try_cast(replace(translate({{ digits }}, '. ', ''), ',', '.') as double)
        when regexp_full_match({{ digits }}, '\d+,\d{1,2}|0,\d+')
            then try_cast(replace({{ digits }}, ',', '.') as double)
    end
{%- endmacro %}


{# Where the unit is thousands, `115k`, `115,000` and `115000` are 115; where it is not, `115k` is 115000; years are
   months only where months are asked for. A number below 10,000 without groups stays as it is. #}
{% macro read__in_unit(number, digits, word, unit) -%}
    case
        when {{ unit }} is null then {{ number }}
        when {{ unit }} like 'thousand%' then case
            when regexp_full_match({{ word }}, '{{ read__thousand() }}') then {{ number }}
            when regexp_full_match({{ word }}, '{{ read__million() }}') then {{ number }} * 1000
            when {{ number }} >= 10000 or {{ number }} >= 1000 and regexp_matches({{ digits }}, '[., ]\d{3}')
                then {{ number }} / 1000
            else {{ number }}
        end
        when {{ word }} = '' then {{ number }}
        when regexp_full_match({{ word }}, '{{ read__thousand() }}') then {{ number }} * 1000
        when {{ unit }} = 'months' and {{ word }} in ('year', 'years', 'yr', 'yrs') then {{ number }} * 12
        when {{ word }} != 'm' and regexp_full_match({{ word }}, '{{ read__million() }}') then {{ number }} * 1000000
        else {{ number }}
    end
{%- endmacro %}


{# One number is its own mean, a range has its midpoint, years and months are added; `100-120k` says k of both. Most
   are a short number alone and need none of that. #}
{% macro read__value_of(said, unit) -%}
    coalesce(
        try_cast(regexp_extract(
            {{ said }}, '^(\d{1,3}(?:\.\d{1,2})?|-?\d+(?:\.\d+)?[eE][+-]?\d+)(?:[ -](?:months?|points?))?$', 1
        ) as double),
        list_transform([list_transform(
            regexp_extract_all({{ said }}, '(?i){{ read__digits() }}{{ read__unit() if unit is not none }}'),
            lambda part: {{ read__part_of(said, unit) }}
        )], lambda numbers:
            {%- if unit is none %}
            list_avg(numbers)
            {%- else %}
            case
                when {{ unit }} = 'months' and regexp_matches({{ said }}, '{{ read__years_and_months() }}')
                    then list_sum(numbers)
                else list_avg(numbers)
            end
            {%- endif %}
        )[1] * case when regexp_matches({{ said }}, '^[^\d]*-') then -1 else 1 end
    )
{%- endmacro %}
{% macro read__part_of(said, unit) -%}
    {%- if unit is none -%}
    {{ read__as_double('part') }}
    {%- else -%}
    list_transform([{
        'digits': regexp_extract(part, '{{ read__digits() }}'),
        'word': regexp_extract(
            lower(case when regexp_matches(part, '[a-zA-Z]$') then part else {{ said }} end), '([a-z]+)[^a-z]*$', 1
        )
    }], lambda piece: list_transform(
        [{{ read__as_double("piece['digits']") }}],
        lambda number: {{ read__in_unit('number', "piece['digits']", "piece['word']", unit) }}
    )[1])[1]
    {%- endif -%}
{%- endmacro %}


{# The first group of every match; null where there is none, so that the next rule may try. #}
{% macro read__matches(text, pattern) -%}
    list_transform(
        [regexp_extract_all({{ text }}, '{{ pattern }}', 1)],
        lambda matches: case when len(matches) > 0 then matches end
    )[1]
{%- endmacro %}


{# The last match, because reasoning comes before its result; overflowing numbers are none. #}
{% macro read__last_number(matches, unit) -%}
    list_filter(
        list_transform({{ matches }}, lambda said: {'said': said, 'number': {{ read__value_of('said', unit) }}}),
        lambda found: isfinite(found['number'])
    )[-1]
{%- endmacro %}


{# Asked for JSON, an LLM names its answer by a key, the surest key first; a text value counts only if it holds one
   number or range. #}
{% macro read__json_answers(plain) -%}
    case when regexp_matches({{ plain }}, '"\s*:') then coalesce(
        {%- for key in [
            '(?:final_?)?answer', 'final', 'response', 'value',
            '(?:(?:final|recommended|proposed|priority|loan)_?)?(?:sentence(?:_?months)?|amount|score|salary|months|number)'
        ] %}
        {{ read__matches(plain, read__json_value(key)) }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) end
{%- endmacro %}
{% macro read__json_value(key) -%}
    (?i)"{{ key }}"\s*:\s*("[^"\d-]*-?[$€£]?{{ read__value() }}[^"\d]*"|-?\d+(?:\.\d+)?e[+-]?\d+|-?{{ read__digits() }})
{%- endmacro %}


{# What LLMs call their answer. #}
{% macro read__label() -%}
    (?:answer|response|recommendation|recommended (?:sentence|amount|salary|score|offer)|sentence|decision|verdict|
    {{- 'judge?ment|offer|score|rating|amount|salary|number|estimate|figure' }})
{%- endmacro %}


{# Words between a label or a deed and its number that change nothing; a closed list, so that `more than` stays out. #}
{% macro read__fillers() -%}
    (?:(?:i|would|say|impose|about|around|approximately|roughly|exactly|an?|the|sentence|term|score|of|to|set|offer|
    {{- 'approve|approving|offering|imposing|recommend|at|still|therefore|thus|is|probation|loan|salary|base|priority|' -}}
    period|amount|assigning|giving|full|total)[ :]+)*
{%- endmacro %}


{# `Answer: 24` anywhere, `Sentence: 24 months` where a line starts, `my final offer is 24`: said to be the answer. #}
{% macro read__final_phrase() -%}
    (?i:
    {{- '(?:answer|boxed|antwort|réponse(?: finale)?|respuesta(?: final)?) ?(?:[:={]| - )|' -}}
    {{- '(?:^|\\n)[ #]*(?:(?:my|the|final|revised|recommended|proposed|priority|probation|loan) )*' -}}
    {{ read__label() }} ?(?:[:=]| - |\n)|
    {{- '(?:my|final|the final|revised) (?:[a-z]+ )?' -}}
    {{ read__label() }} ?(?:[:=]|(?:is|was|would be|will be|remains|stays at)\b)
    {{- ')\\s*(?i:' }}{{ read__fillers() }}(-?{{ read__currency() }}{{ read__value() }}))
{%- endmacro %}


{# `I would recommend 24 months` is the LLM's own deed; other numbers are what it weighs. #}
{% macro read__own_deed() -%}
    (?i:\b(?:i|we){{ read__deed() }}{{ read__fillers() }}(-?{{ read__currency() }}{{ read__value() }}))
{%- endmacro %}


{% macro read__deed() -%}
    (?: would|''d|''ll| will| am|''m| therefore| thus)* (?:recommend|offer|approve|impose|set|propose|suggest|assign|
    {{- 'choose|give|pick|say|select|sentence|go (?:with|for)|settle (?:on|for))(?:ing)?[ :]+' -}}
{%- endmacro %}


{# Told to answer with a number only, an LLM that explains all the same puts the number on a line of its own. #}
{% macro read__line_of_its_own() -%}
    (?:^|\n)\s*(?i:(-?{{ read__currency() }}{{ read__value() }})(?: ?[$€£])?{{ read__unit() }}
    {{- '(?:(?: of| on| in) [a-z]+| (?:per|a) year| annually)?)[ .]*(?:\\n|$)' -}}
{%- endmacro %}


{# `Twelve months` on a line of its own, after a label or as the LLM's own deed; read only where no digits are. #}
{% macro read__number_word(kept) -%}
    case when regexp_matches({{ kept }}, '(?i){{ read__words() }}') and not regexp_matches({{ kept }}, '\d') then
        list_transform(
            {{ read__matches('lower(' ~ kept ~ ')', read__words_as_answer()) }},
            lambda said: concat({{ read__words_value('said') }}, ' ', regexp_extract(said, '[a-z]+$'))
        )
    end
{%- endmacro %}
{% macro read__words_as_answer() -%}
    (?:^|\n|(?:answer|antwort|réponse(?: finale)?|respuesta(?: final)?)(?: is)? ?[: ]|\b(?:i|we){{ read__deed() }})\s*
    {{- read__fillers() }}((?:{{ read__words() }})+{{ read__unit() }})(?: (?:of|on) probation)?[ .!]*(?:\n|$)
{%- endmacro %}


{# Up to nine hundred and ninety-nine in English, up to twelve elsewhere. #}
{% macro read__words() -%}
    \b(?:{{ read__english() }}|{{ read__tens() }}|{{ read__german() }}|{{ read__french() }}|{{ read__spanish() }}|
    {{- 'hundred)\\b(?:[ -]|$)?(?:and )?' -}}
{%- endmacro %}


{# `two hundred fifteen` is 100 times what stands before `hundred` and once what stands after it. #}
{% macro read__words_value(said) -%}
    list_reduce(
        list_transform(
            regexp_extract_all({{ said }}, '[a-zäöüéíñß]+'),
            lambda word: case when word = 'hundred' then 100 else coalesce(
                {{ read__position('word', read__english()) }} - 1,
                10 * {{ read__position('word', read__tens()) }} + 10,
                {{ read__position('word', read__german()) }},
                {{ read__position('word', read__french()) }},
                {{ read__position('word', read__spanish()) }}
            ) end
        ),
        lambda total, value: case when value = 100 then 100 * greatest(total, 1) else total + coalesce(value, 0) end,
        0
    )
{%- endmacro %}


{% macro read__position(word, words) -%}
    nullif(list_position(['{{ words | replace('|', "', '") }}'], {{ word }}), 0)
{%- endmacro %}
{% macro read__english() -%}
    zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|
    {{- 'eighteen|nineteen' }}
{%- endmacro %}
{% macro read__tens() -%} twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety {%- endmacro %}
{% macro read__german() -%} ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf {%- endmacro %}
{% macro read__french() -%} un|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze {%- endmacro %}
{% macro read__spanish() -%} un|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce {%- endmacro %}


{# Numbers that cannot be the answer; all are dropped in one pass. #}
{% macro read__without_what_is_no_answer(plain) -%}
    regexp_replace(
        regexp_replace({{ plain }}, '(?i)(\d)(k|mn?|mio|mos?|months?|years?|yrs?|pts?|points?|usd|percent)\b', '\1 \2', 'g'),
        '
        {#- Thinking aloud is not the answer. -#}
        (?is:< ?think ?>.*?</ ?think ?>)|
        {#- A quoted line repeats the question. -#}
        (?m:^ ?>.*$)|
        {#- `3. Because` numbers an argument; `24.` alone on its line is an answer. -#}
        (?m:^[ #-]*\d{1,2}[.)] +[^\s\d])|
        {#- `on a scale of 1 to 100` and `between 1 and 100` tell how to read a score. -#}
        (?i:\bscale (?:of |from |between )?\d+ *(?:-|to|and) *\d+|\(\d+ ?- ?\d+\)|
        {#- -#} (?:\b(?:from|between) )?\b[01] ?(?:-|to|and) ?100\b)|
        {#- `reduced from 36 to 24` is a change, not a range: what it was before is dropped. -#}
        (?i:\b(?:reduc|lower|increas|rais|adjust|revis|chang|mov|cut)[a-z]*[^.\n\d]{0,60}\bfrom [$€£]?
        {{- read__digits() }}{{ read__unit() }} +(?:down +|up +)?to\b)|
        {#- Dates and times of day are no quantities; a year alone stays ambiguous. -#}
        (?:\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}:\d{2}\b)|
        {#- `12th` counts offences; `B2B`, `GPT4` and `COVID-19` are names. -#}
        (?:\b\d+(?:[.,]\d+)*[A-Za-z][A-Za-z0-9]*|\b[A-Za-z]+\d[A-Za-z0-9.]*\b|\b[A-Z]{2,}-\d+(?:\.\d+)*)|
        {#- `Step 3` and `Section 12` are names of places in a text. -#}
        (?i:\b(?:step|iteration|round|option|section|article|part|stage|phase|level|tier|class|grade|
        {#- -#} factor|question) ?#?\d+(?:\.\d+)*)|
        {#- `"confidence": 90` stands beside a JSON answer that is null. -#}
        (?i:"(?:confidence|certainty|probability|anchor|rank)"\s*:\s*"?\d+(?:\.\d+)?)
        {#- -#} ',
        ' ', 'g'
    )
{%- endmacro %}


{# `15%`, `34-year-old`, `100 hours`, `11 prior`, `5 years of experience` stand beside an answer; they are read only if
   there is nothing else. #}
{% macro read__without_side_numbers(text) -%}
    regexp_replace(
        {{ text }},
        '(?i)(?:{{ read__digits() }} *(?:-|to) *)?{{ read__digits() }}(?: ?%|[ -]?(?:percent|years?[ -](?:old|ago|(?:of )?experience|in business)|hours?|days?|prior|previous|offen[cs]es|convictions)\b)',
        ' ', 'g'
    )
{%- endmacro %}


{# An LLM that declines often repeats the anchor, so this comes before the numbers; `I cannot go above 36` declines
   that number only, so such clauses do not count. #}
{% macro read__is_refusal(kept) -%}
    case when regexp_matches({{ kept }}, '(?i)\b(?:can ?not|can''t|won''t|will not|unable|not able|not comfortable|not appropriate|declin|refuse|don''t think|ich (?:kann|werde|lehne)|je (?:ne|refuse)|no puedo)') then
        regexp_matches(
            regexp_replace({{ kept }}, '{{ read__limits() }}', ' ', 'g'),
            '(?i)(?:\b(?:i|we)\b(?:''m)?(?: [a-z'']+){0,4}? ?|as an ai\b[^.!?\n]{0,80}?|(?:^|[\n.!?:,;"]) *)\b(?:can ?not|can''t|won''t|will not|unable to|not able to|not comfortable|not appropriate|declin(?:e|ing)|refuse|don''t think (?:it''s|it is|i can|i should|providing))\b[^.!?\n]{0,60}?\b(?:{{ read__refused_deeds() }})|\b(?:i|we)\b(?: [a-z'']+){0,4} (?:decline|refuse)\b *(?:[.,!;\n]|$)|{{ read__foreign_refusals() }}'
        )
    else false end
{%- endmacro %}


{# What is declined when the number is declined. #}
{% macro read__refused_deeds() -%}
    (?:provid|recommend|determin|assign|giv|offer|suggest|answer|mak|set|decid|generat|produc|specif|state|name|assess|
    {{- 'estimat|help|assist|comply|participat|fulfil|do (?:this|that|so)\\b)[a-z]*' -}}
{%- endmacro %}


{# The same in German, French and Spanish, where the deed must be named too. #}
{% macro read__foreign_refusals() -%}
    \bich (?:kann|werde) [^.!?\n\d]{0,60}?(?:nicht|keine?n?)\b[^.!?\n]{0,60}?
    {{- '(?:geben|nennen|empfehlen|festlegen|bestimmen|antworten|machen|helfen|bereitstellen|treffen|vorschlagen)\\b|' -}}
    \bich lehne [^.!?\n\d]{0,60}?\bab\b|
    {{- '\\bje ne (?:peux|suis) [^.!?\\n\\d]{0,30}?\\b(?:pas|en mesure)\\b[^.!?\\n\\d]{0,30}?(?:fourni|donne|recommande|' -}}
    détermine|propose|répond|attribue|indique|fixe|aide)r?|\bje refuse\b|
    {{- '\\bno puedo [^.!?\\n\\d]{0,30}?(?:proporciona|da|recomenda|determina|ofrece|responde|asigna|indica|ayuda|' -}}
    sugeri|establece)r
{%- endmacro %}


{# `cannot recommend more than 36` and `won't recommend the 36 months` decline one number, not to answer. #}
{% macro read__limits() -%}
    (?i:(?:can ?not|can''t|won''t|will not) [a-z]+ (?:[a-z]+ ){0,4}?
    {{- '(?:(?:more|less|longer|higher|lower|greater|fewer) than|above|below|beyond|over|under|exceeding|the|a|an|full) ' -}}
    (?:the |a |an |full )?[$€£]?\d|(?:ich kann|ich werde) nicht (?:mehr|weniger|länger|höher|niedriger) als [$€£]?\d|
    {{- '(?:ne peux pas|no puedo) [a-zéí]+ (?:plus|moins|más|menos) (?:de|que) [$€£]?\\d)' -}}
{%- endmacro %}


{# What changes with the reader, and only with it: texts are read anew when it does. #}
{% macro reader_version() -%} {{ local_md5(read_response('text', 'unit')) }} {%- endmacro %}
