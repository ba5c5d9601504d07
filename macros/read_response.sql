{# The one place where a number is read from an LLM's answer: pure Jinja that expands to one DuckDB expression, which
   `ingest` renders too. Strongest first: JSON, `Answer:`, a bold end, a label or a line of its own, a refusal, what the
   LLM says it decides, the one number that can be meant, a number word. Where two can be meant the reason is `ambiguous`:
   a wrong number is worse than none. `3.350` may be 3.35 or 3,350: `if_decimal` and `if_grouped` are the two, between
   which macros/number_in_cell.sql chooses. `unit` is the vignette's response_unit, a SQL expression: without one nothing is
   scaled. `said` is the piece that was read; `note` says how its number was made: range_midpoint, thousands_scaled,
   years_as_months, number_word. Rules are RE2 fragments (no lookaround). #}
{% macro read_response(text, unit=none) -%}
    {%- set asked_unit = 'asked_unit' if unit is not none else none -%}
    {%- set final = [
        read__json_answers('plain'),
        read__matches('outside', read__answer_phrase()),
        read__numbers_in_bold('ascii', is_at_the_end=true),
        read__labelled_numbers('outside'),
    ] -%}
    {%- set decided = [
        read__matches('weighed', read__deed()),
        read__matches('weighed', read__judged()),
        read__matches('weighed', read__concluded()),
    ] -%}
    {%- set meant = [
        'final',
        'decided',
        read__numbers_in_bold('ascii'),
        read__matches('weighed', read__number()),
        read__words_as_digits('worded'),
        'case when is_in_words then [] end',
        read__matches('outside', read__deed()),
        read__matches(read__without_side_numbers('stated'), read__number()),
        read__matches('stated', read__number()),
    ] -%}
    {%- set steps = [
        ('ascii', read__as_ascii('asked_text')),
        ('scaled', read__in_the_units_scale(read__as_plain_text('ascii'), asked_unit)),
        ('known', read__without_foreign_currencies('scaled', asked_unit)),
        ('plain', read__without_other_currencies('known', asked_unit)),
        ('kept', read__without_what_is_no_answer('plain')),
        ('stated', read__without_what_is_denied('kept')),
        ('outside', read__without_asides('stated')),
        ('final', 'coalesce(' ~ final | join(', ') ~ ')'),
        ('is_refusal', 'final is null and ' ~ read__is_refusal('kept')),
        ('weighed', 'case when final is null and not is_refusal then ' ~ read__without_side_numbers('outside') ~ ' end'),
        ('decided', 'case when weighed is not null then coalesce(' ~ decided | join(', ') ~ ') end'),
        ('worded', 'case when weighed is not null and decided is null then ' ~ read__number_words('weighed') ~ ' end'),
        ('is_in_words', 'worded is null and coalesce(' ~ read__is_in_words('weighed') ~ ', false)'),
        ('is_revised', 'coalesce(final, decided) is not null and ' ~ read__is_revised('kept')),
        ('meant', 'case when not is_refusal then coalesce(' ~ meant | join(', ') ~ ') end'),
        ('numbers', read__numbers('meant', asked_unit)),
        ('found', read__the_one_number('numbers', 'is_revised', asked_unit)),
        ('grouped', read__with_grouping_dots("found['said']")),
        ('if_grouped', 'case when worded is null then ' ~ read__value_of('grouped', asked_unit) ~ ' end'),
    ] -%}
    (
        with step_0 as (
            select {{ text }} as asked_text{% if unit is not none %}, {{ unit }} as asked_unit{% endif %}
        ){% for name, expression in steps %},
        step_{{ loop.index }} as (select *, {{ expression }} as {{ name }} from step_{{ loop.index0 }}){% endfor %}
        select {{ read__outcome_of('found', asked_unit) }} from step_{{ steps | length }}
    )
{%- endmacro %}


{# What the steps have come to. #}
{% macro read__outcome_of(found, unit) -%}
    case
        when coalesce(trim(plain, e' \n'), '') = '' then {{ read__outcome('unparsed', reason="'no_text'") }}
        when is_refusal then {{ read__outcome('refused', reason="'refused'") }}
        when {{ found }} is null then {{ read__outcome('unparsed', reason="'no_number'") }}
        when isnan({{ found }}['number']) then {{ read__outcome('unparsed', reason="'ambiguous'") }}
        when if_grouped != {{ found }}['number'] then {{ read__outcome(
            'unparsed', reason="'ambiguous'", if_decimal=found ~ "['number']", if_grouped='if_grouped'
        ) }}
        else {{ read__outcome(
            'answered',
            response=found ~ "['number']",
            note=read__note(found, 'worded is not null', unit),
            said='trim(coalesce(worded[-1], ' ~ found ~ "['said']), e' \\n')"
        ) }}
    end
{%- endmacro %}


{# One type for every outcome, so that a column of them is one. #}
{% macro read__outcome(status, response='null', reason='null', note='null', said='null', if_decimal='null', if_grouped='null') -%}
    {
        'response': {{ response }}::double,
        'status': '{{ status }}',
        'reason': {{ reason }}::varchar,
        'note': {{ note }}::varchar,
        'said': {{ said }}::varchar,
        'if_decimal': {{ if_decimal }}::double,
        'if_grouped': {{ if_grouped }}::double
    }
{%- endmacro %}


{# How the number was made from what was written, for those who want to leave such answers out. #}
{% macro read__note(found, is_word, unit) -%}
    case
        when {{ is_word }} then 'number_word'
        when len(regexp_extract_all({{ found }}['said'], '{{ read__digits() }}')) > 1
            and not regexp_matches({{ found }}['said'], '{{ read__years_and_months() }}|{{ read__or() }}')
            then 'range_midpoint'
        {%- if unit is not none %}
        when {{ found }}['number'] != {{ read__value_of(found ~ "['said']", none) }}
            then case
                when {{ unit }} = 'months' and regexp_matches({{ found }}['said'], '(?i)(?:{{ read__years() }})(?:[^a-z]|$)')
                    then 'years_as_months'
                else 'thousands_scaled'
            end
        {%- endif %}
    end
{%- endmacro %}


{# Dashes, quotes, digits and Chinese stops become ASCII, which RE2 knows best; markdown stays. #}
{% macro read__as_ascii(text) -%}
    case when strlen({{ text }}) = length({{ text }}) then {{ text }} else replace(
        translate(
            {{ text }},
            '–‒‑−’‘ʼ“”：．％～（）。，；、！？٫٬٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹０１２３４５６７８９',
            '----''''''"":.%-().;;;!?.,012345678901234567890123456789'
        ),
        '—', ' - '
    ) end
{%- endmacro %}


{# Markdown and controls become one space: they carry no number. #}
{% macro read__as_plain_text(ascii) -%}
    regexp_replace({{ ascii }}, '(?:[\x00-\x09\x0b-\x20\x7f-\x{a0}\p{Cf}\p{Z}*`]|__|~~)+', ' ', 'g')
{%- endmacro %}


{# `72/100` is 72 where the scale is 100 (or unknown), `7/10` is 7 where it is 10; a part of any other scale, as in
   `4/10 pain`, is no answer. #}
{% macro read__in_the_units_scale(plain, unit) -%}
    {%- set parts = '(?:/|(?i:points? |pts? )?(?i:out of|of|von|sur|de)) ?' -%}
    {%- set of_100 = "'(\\d) ?" ~ parts ~ "100([.,]?(?:[^\\d.,]|$))', '\\1\\2', 'g'" -%}
    {%- set of_10 = of_100 | replace('100', '10') -%}
    list_transform([{{ plain }}], lambda words: case
        when not regexp_matches(words, '\d ?{{ parts }}\d') then words
        else regexp_replace(
            {%- if unit is none %}
            regexp_replace(words, {{ of_100 }}),
            {%- else %}
            case
                when coalesce({{ unit }}, 'of 100') like '%of 100' then regexp_replace(words, {{ of_100 }})
                when {{ unit }} like '%of 10' then regexp_replace(words, {{ of_10 }})
                else words
            end,
            {%- endif %}
            '{{ read__digits() }}(?: ?{{ parts }}[$€£]?{{ read__digits() }})+', ' ; ', 'g'
        )
    end)[1]
{%- endmacro %}


{# A number with groups of three or a decimal part; a full stop after it is the sentence's. #}
{% macro read__digits() -%} (?:\b[1-9]\d{0,2}(?:[ '']\d{3})+(?:[.,]\d{1,2})?\b|\d+(?:[.,]\d+)*) {%- endmacro %}


{# The piece, if it has a dot before just three digits, with commas for such dots: as its writer may have meant it. What
   `k` or `million` multiplies, and digits of which other signs tell what the dot is, are not written so. #}
{% macro read__with_grouping_dots(said) -%}
    case
        when
            regexp_matches({{ said }}, '(?:^|[^\d.,''])[1-9]\d{0,2}\.\d{3}(?:[^\d.,]|[.,]?$)')
            and not regexp_matches(
                {{ said }}, '(?i)\d\.\d{3}[.,'']\d|[.,'']\d+\.\d|\d *(?:{{ read__multipliers() }})\b|[千万]'
            )
            then regexp_replace({{ said }}, '\b([1-9]\d{0,2})\.(\d{3})\b', '\1,\2', 'g')
    end
{%- endmacro %}


{# What may stand before a number. #}
{% macro read__currency() -%} (?:(?:usd|eur|us ?[$]|[$€£]) ?)? {%- endmacro %}


{# What may stand between a number and the next word, and what of it multiplies. #}
{% macro read__unit() -%}
    (?: *-?(?:{{ read__multipliers() }}|{{ read__years() }}|{{ read__months() }}|
    {{- read__shorter_times() }}|points?|pts?|punkten?|puntos|percent|prozent|{{ read__currencies() }})\b|
    {{- ' ?(?:' ~ read__chinese_units() }}|%|[$€£]))?
{%- endmacro %}
{% macro read__thousand() -%} k|thousand|grand|tausend|mil|mille {%- endmacro %}
{% macro read__lakh() -%} lakhs? {%- endmacro %}
{% macro read__million() -%} m|mn|mio|millions?|millionen|millón|millones {%- endmacro %}
{% macro read__crore() -%} crores? {%- endmacro %}
{% macro read__billion() -%} b|bn|billions?|mrd|milliarden?|milliards? {%- endmacro %}
{% macro read__trillion() -%} tn|trn|trillions? {%- endmacro %}
{% macro read__multipliers() -%}
    {{ read__thousand() }}|{{ read__lakh() }}|{{ read__million() }}|{{ read__crore() }}|{{ read__billion() }}|
    {{- read__trillion() }}
{%- endmacro %}
{% macro read__years() -%} years?|yrs?|jahr(?:en?)?|ans|años?|年 {%- endmacro %}
{% macro read__months() -%} months?|mos?|monate?n?|mois|mes|meses {%- endmacro %}
{% macro read__shorter_times() -%} {{ read__days() }}|weeks?|hours?|minutes? {%- endmacro %}
{% macro read__days() -%} days?|tagen?|jours?|días? {%- endmacro %}
{% macro read__currencies() -%} dollars?|usd|euros?|eur|gbp|dólares|pesos {%- endmacro %}
{% macro read__chinese_units() -%} 个月|個月|年|分|天|[千万]?(?:美元|元)|[千万] {%- endmacro %}


{# `1 year and 6 months` is one number. #}
{% macro read__years_and_months() -%}
    (?i:\d+[ -]?(?:{{ read__years() }}|an),?(?: (?:and|und|et|y))? ?\d+[ -]?(?:{{ read__months() }}|个月))
{%- endmacro %}


{# A range first, since it answers with its midpoint, then numbers between which nobody has chosen, else one number. #}
{% macro read__value() -%}
    (?i:
    {%- set currency, number = read__currency(), read__digits() ~ read__unit() -%}
    {{- read__years_and_months() }}|
    {{- '(?:between|zwischen|entre) (?:about )?' }}{{ currency }}{{ number }} +(?:and|und|et|y) {{ currency }}{{ number }}|
    {{- number }}(?:(?: *- *| +(?:to|bis|à|a) +| ?[至到] ?){{ currency }}{{ number }}|(?:{{ read__or() }}{{ currency }}{{ number }})+)?)
{%- endmacro %}
{% macro read__or() -%}
    (?:,? +(?:or(?: maybe| perhaps| possibly| even)?|maybe|perhaps|possibly|oder|vielleicht|ou|peut-être|o|quizás) +| ?或者? ?)
{%- endmacro %}


{# A minus is a sign only where no word, number or bracket ends before it: `COVID-19` and `24-month` have none. #}
{% macro read__number() -%} ((?:(?:^|[\s:=(\[])-)?{{ read__currency() | replace('(?:usd', '(?i:usd') }}{{ read__value() }}) {%- endmacro %}


{# `115,000`, `115 000`, `115'000` and `1.234.567` have thousands groups, `12,5` and `1.234,5` a decimal comma; `1,2345` and
   `3.2.1` are no numbers and are not guessed. #}
{% macro read__as_double(digits) -%}
    case
        when regexp_full_match({{ digits }}, '\d+(?:\.\d+)?') then try_cast({{ digits }} as double)
        when regexp_full_match({{ digits }}, '[1-9]\d{0,2}(?:(?:,\d{3})+|(?:[ '']\d{3})+)(?:\.\d+)?')
            then try_cast(translate({{ digits }}, ', ''', '') as double)
        when regexp_full_match({{ digits }}, '[1-9]\d{0,2}(?:(?:\.\d{3}){2,}|(?:(?:\.\d{3})+|(?:[ '']\d{3})+),\d+)')
            then try_cast(replace(translate({{ digits }}, '. ''', ''), ',', '.') as double)
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
            when {{ read__factor(word) }} is not null then {{ number }} * {{ read__factor(word) }} / 1000
            when {{ number }} >= 10000 or {{ number }} >= 1000 and regexp_matches({{ digits }}, '[., '']\d{3}')
                then {{ number }} / 1000
            else {{ number }}
        end
        when {{ word }} = '' then {{ number }}
        when {{ unit }} = 'months' and regexp_full_match({{ word }}, '{{ read__years() }}') then {{ number }} * 12
        when {{ word }} in ('m', 'b') and {{ read__kind_of_unit(unit) }} != 'money' then {{ number }}
        else {{ number }} * coalesce({{ read__factor(word) }}, 1)
    end
{%- endmacro %}
{% macro read__factor(word) -%}
    case
        when regexp_full_match({{ word }}, '{{ read__thousand() }}|千.*') then 1000
        when starts_with({{ word }}, '万') then 10000
        when regexp_full_match({{ word }}, '{{ read__lakh() }}') then 1e5
        when regexp_full_match({{ word }}, '{{ read__million() }}') then 1e6
        when regexp_full_match({{ word }}, '{{ read__crore() }}') then 1e7
        when regexp_full_match({{ word }}, '{{ read__billion() }}') then 1e9
        when regexp_full_match({{ word }}, '{{ read__trillion() }}') then 1e12
    end
{%- endmacro %}


{# One number is its own mean, a range has its midpoint, years and months are added; `100-120k` says k of both. Nobody has
   chosen between `12 or 24`, and `36-24` is no range: NaN says that there is more than one. Most are a short number
   alone and need none of that. #}
{% macro read__value_of(said, unit) -%}
    coalesce(
        try_cast(regexp_extract(
            {{ said }}, '^(\d{1,3}(?:\.\d{1,2})?|-?\d+(?:\.\d+)?[eE][+-]?\d+)(?:[ -](?:months?|points?))?$', 1
        ) as double),
        list_transform([list_transform(
            regexp_extract_all({{ said }}, '(?i){{ read__digits() }}{{ read__unit() if unit is not none }}'),
            lambda part: {{ read__part_of(said, unit) }}
        )], lambda numbers:
            case
                when len(numbers) = 1 then numbers[1]
                {%- if unit is not none %}
                when {{ unit }} = 'months' and regexp_matches({{ said }}, '{{ read__years_and_months() }}')
                    then 12 * try_cast(regexp_extract({{ said }}, '^\d+') as double)
                        + try_cast(regexp_extract({{ said }}, '(\d+)\D*$', 1) as double)
                {%- endif %}
                when len(list_distinct(numbers)) > 1 and regexp_matches({{ said }}, '(?i){{ read__or() }}') then 'nan'::double
                when numbers[1] > numbers[2] or regexp_matches({{ said }}, '{{ read__years_and_months() }}')
                    then 'nan'::double
                else list_avg(numbers)
            end
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
            lower(case when regexp_matches(part, '\pL$') then part else {{ said }} end), '(\pL+)\PL*$', 1
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


{# The last of what was said where all of it says the same, or where the LLM says that it has thought again. Else those
   count that have no other unit, then those that have the vignette's; NaN is more than one. Overflowing numbers are none. #}
{% macro read__the_one_number(numbers, is_revised, unit) -%}
    {%- set more_than_one = "{'said': '', 'number': 'nan'::double, 'kind': ''}" -%}
    case
        when coalesce(len({{ numbers }}), 0) = 0 then null
        when {{ is_revised }} or {{ read__say_the_same(numbers) }} then {{ numbers }}[-1]
        {%- if unit is not none %}
        else coalesce(
            {{ read__only_one(numbers, "one['kind'] = '' or " ~ read__is_of_unit(unit)) }},
            {{ read__only_one(numbers, read__is_of_unit(unit)) }},
            {{ more_than_one }}
        )
        {%- else %}
        else {{ more_than_one }}
        {%- endif %}
    end
{%- endmacro %}
{% macro read__numbers(meant, unit) -%}
    list_filter(
        list_transform({{ meant }}, lambda said: {
            'said': said,
            'number': {{ read__value_of('said', unit) }},
            'kind': {{ read__kind_of_number('said') if unit is not none else "''" }}
        }),
        lambda one: not isinf(one['number']){% if unit is not none %} and not {{ read__is_of_another_unit(unit) }}{% endif %}

    )
{%- endmacro %}
{% macro read__say_the_same(numbers) -%}
    len(list_distinct(list_transform({{ numbers }}, lambda one: one['number']))) = 1
{%- endmacro %}
{% macro read__only_one(numbers, condition) -%}
    list_transform(
        [list_filter({{ numbers }}, lambda one: {{ condition }})],
        lambda few: case when {{ read__say_the_same('few') }} then few[-1] end
    )[1]
{%- endmacro %}
{% macro read__kind_of_number(said) -%}
    {%- set kinds = {
        'percent': '%|percent|prozent',
        'score': 'points?|pts?|punkten?|puntos|分',
        'years': read__years(),
        'months': read__months() ~ '|个月',
        'weeks': 'weeks?',
        'days': read__days() ~ '|天',
        'hours': 'hours?',
        'minutes': 'minutes?',
        'length': 'm',
        'large': read__multipliers() ~ '|[千万]',
    } -%}
    case
        when not regexp_matches({{ said }}, '[$€£%\pL]') then ''
        when regexp_matches({{ said }}, '(?i)[$€£元]|usd|eur|gbp|(?:{{ read__currencies() }})(?:\PL|$)') then 'money'
        {%- for kind, words in kinds.items() %}
        when regexp_matches({{ said }}, '(?i)\d[ -]*(?:{{ words }})(?:\PL\D*)?$') then '{{ kind }}'
        {%- endfor %}
        else ''
    end
{%- endmacro %}
{# A number that ends in `million` may be one of anything that is counted; years are brought to months, and to no other unit. #}
{% macro read__is_of_unit(unit) -%}
    {%- set kind = read__kind_of_unit(unit) -%}
    (
        one['kind'] = {{ kind }}
        or one['kind'] = 'large' and {{ kind }} in ('', 'money')
        or one['kind'] = 'years' and {{ unit }} = 'months'
    )
{%- endmacro %}
{# `10%` is no amount of money and `6 weeks` are no 6 months, even alone; a share may be a score. #}
{% macro read__is_of_another_unit(unit) -%}
    (
        {{ read__kind_of_unit(unit) }} != ''
        and one['kind'] not in ('', 'length', 'large')
        and not {{ read__is_of_unit(unit) }}
        and not (one['kind'] in ('percent', 'score') and {{ read__kind_of_unit(unit) }} in ('percent', 'score'))
    )
{%- endmacro %}
{% macro read__kind_of_unit(unit) -%}
    case
        when regexp_matches({{ unit }}, '(?i)dollar|euro|usd|eur|gbp|thousand|[$€£]') then 'money'
        when regexp_matches({{ unit }}, 'percent|%') then 'percent'
        when regexp_matches({{ unit }}, 'score|point') then 'score'
        {%- for time in ['minute', 'hour', 'day', 'week', 'month', 'year'] %}
        when contains({{ unit }}, '{{ time }}') then '{{ time }}s'
        {%- endfor %}
        else ''
    end
{%- endmacro %}


{# `CHF 500` and `A$500` are amounts of no unit that is asked for in dollars, euros or pounds, even alone. #}
{% macro read__without_foreign_currencies(words, unit) -%}
    {%- set of = '(?:' ~ read__foreign_currencies() ~ ')' -%}
    {%- set number = read__digits() ~ '(?: ?(?:' ~ read__multipliers() ~ ')\\b)?' -%}
    {%- if unit is none -%} {{ words }} {%- else -%}
    case
        when regexp_matches({{ unit }}, '(?i)dollar|euro|usd|eur|gbp|[$€£]') and not regexp_matches({{ unit }}, '(?i)\b{{ of }}')
            then regexp_replace({{ words }}, '(?i)\b{{ of }} ?{{ number }}|{{ number }} ?{{ of }}(?:[^a-z]|$)', ' ; ', 'g')
        else {{ words }}
    end
    {%- endif -%}
{%- endmacro %}
{% macro read__foreign_currencies() -%}
    aud|cad|nzd|hkd|sgd|chf|jpy|cny|rmb|inr|sek|nok|dkk|mxn|brl|zar|(?:au?|ca?|nz|hk|sg?|mx|r)[$]|
    {{- '(?:australian|canadian|new zealand|hong kong|singapore) dollars?|(?:swiss )?francs?|franken|yen|yuan|rupees?' -}}
{%- endmacro %}


{# `100 EUR or 110 USD` is 100 where EUR are asked for: beside an amount in the unit's currency, one in another is none. #}
{% macro read__without_other_currencies(words, unit) -%}
    {%- set currencies = ['usd|dollars?|us ?[$]|[$]', 'euros?|eur|€', 'gbp|£'] -%}
    {%- if unit is none -%} {{ words }} {%- else -%}
    case
        {%- for own in currencies %}
        {%- set others = currencies | reject('equalto', own) | join('|') %}
        when
            regexp_matches({{ unit }}, '(?i){{ own }}')
            and regexp_matches({{ words }}, '(?i){{ read__amount(own) }}')
            then regexp_replace({{ words }}, '(?i){{ read__amount(others) }}', ' ', 'g')
        {%- endfor %}
        else {{ words }}
    end
    {%- endif -%}
{%- endmacro %}
{% macro read__amount(currency) -%}
    (?:(?:{{ currency }}) ?{{ read__digits() }}(?: ?(?:{{ read__multipliers() }})\b)?|
    {{- read__digits() }}(?: ?(?:{{ read__multipliers() }}))? ?(?:{{ currency }}))
{%- endmacro %}


{# `On reflection` and the like: of two answers the later is meant. #}
{% macro read__is_revised(kept) -%}
    regexp_matches({{ kept }}, '(?i)\b(?:(?:on|upon|after) (?:reflection|reconsideration|second thought|further)|reconsider|revis|correction|or rather|actually|scratch that|changed? my mind|my final|final(?:ly)?\b)')
{%- endmacro %}


{# Asked for JSON, an LLM names its answer by a key, the surest key first; a text value counts only if it holds one
   number or range. #}
{% macro read__json_answers(plain) -%}
    case when regexp_matches({{ plain }}, '"\s*:') then coalesce(
        {%- for key in [
            '(?:final_?)?answer', 'final', 'response', 'value',
            '(?:(?:final|recommended|proposed|priority|urgency|loan)_?)?(?:sentence(?:_?(?:in_)?months)?|amount|score|salary|months|number|offer)'
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
    {{- 'judge?ment|offer|score|rating|amount|salary|number|estimate|figure|priority|urteil|strafe|strafmaß|empfehlung|' -}}
    entscheidung|bewertung|gehalt|betrag|peine|recommandation|décision|montant|salaire|sentencia|pena|condena|
    {{- 'recomendación|decisión|monto|salario|puntuación|判决|刑期|建议|评分|分数|薪资|金额|决定)' -}}
{%- endmacro %}


{# Words between a label or a deed and its number that change nothing; a closed list, so that `more than` stays out. #}
{% macro read__fillers() -%}
    (?:(?:i|would|say|impose|about|around|approximately|roughly|exactly|an?|the|sentence|term|score|of|to|set|offer|
    {{- 'approve|approving|offering|imposing|recommend|at|still|therefore|thus|is|probation|loan|salary|base|priority|' -}}
    period|amount|assigning|giving|full|total|her|him|them|this|defendant|accused|patient|case|urgency|it|as|on|for|be|
    {{- 'final|starting|annual|rating|only|just|ich|würde|eine[nmrs]?|ein|strafe|freiheitsstrafe|bewährung|gehalt|von|zu|auf|' -}}
    die|den|der|angeklagten?|etwa|je|une?|la|le|à|de|peine|prévenue?|accusée?|salaire|una?|el|al?|pena|acusad[ao]|
    {{- 'sentencia|salario|punkte)[ :]+|[~≈] ?)*' -}}
{%- endmacro %}


{# `Answer: 24` anywhere, `my final offer is 24`: said to be the answer. #}
{% macro read__answer_phrase() -%}
    (?i:{{ read__answer_is() }})\s*(?i:{{ read__fillers() }}(-?{{ read__currency() }}{{ read__value() }}))
{%- endmacro %}
{% macro read__answer_is() -%}
    (?:answer|boxed|antwort|réponse(?: finale)?|respuesta(?: final)?|答案|回答) ?(?:[:={]| - )|
    {{- '(?:\\b(?:final|revised|endgültige[rs]?)|最终) ?(?:[a-z]+ )?' }}{{ read__label() }} ?
    {{- '(?:[:=]| - |\\n|(?:is|was|would be|will be|remains|stays at)\\b:?)' -}}
{%- endmacro %}


{# `Sentence: 24 months` where a line starts, `my decision is 24 months`, and lines of their own: told to answer with a
   number only, an LLM that explains all the same puts the number on one. #}
{% macro read__labelled_numbers(outside) -%}
    list_transform([list_concat(
        regexp_extract_all(
            {{ outside }},
            '(?i:{{ read__label_is() }})\s*(?i:{{ read__fillers() }}(-?{{ read__currency() }}{{ read__value() }}))',
            1
        ),
        regexp_extract_all({{ outside }}, '{{ read__line_of_its_own() }}', 1)
    )], lambda matches: case when len(matches) > 0 then matches end)[1]
{%- endmacro %}
{% macro read__label_is() -%}
    (?:^|\n)[ #-]*(?:(?:my|the|recommended|proposed|suggested|approved|approval|priority|urgency|triage|probation|loan|total|
    {{- 'base|starting|annual|meine?|ma|mi) )*' }}{{ read__label() }}(?: \([^()\d]*\))? ?(?:[:=]| - |\n)|
    {{- '\\bmy (?:(?:own|recommended|proposed|overall) )?' -}}
    {{ read__label() }} ?(?:[:=]|(?:is|would be|will be|remains|stays at)\b:?)
{%- endmacro %}
{% macro read__line_of_its_own() -%}
    (?m:^)\s*(?i:[~≈]? ?(-?{{ read__currency() }}{{ read__value() }})(?: ?[$€£])?{{ read__unit() }}
    {{- '(?:(?: of| on| in| auf) [a-zä]+| (?:per|a) year| annually)?)[ .,;:]*(?m:$)' -}}
{%- endmacro %}


{# A number alone in bold, unless it is denied or names a fact (`Debt: **$35,000**`); a bold end is as good as a line. #}
{% macro read__numbers_in_bold(ascii, is_at_the_end=false) -%}
    {%- set end = '[\\s.!]*$' if is_at_the_end else '' -%}
    {%- set names_a_fact = '' if is_at_the_end else '|: *' -%}
    case when contains({{ ascii }}, '**') then list_transform(
        [list_filter(
            regexp_extract_all({{ ascii }}, '(?i)(?:\b{{ read__denial() }}[^*\n.:]{0,40}{{ names_a_fact }}|\*\* *(?:-|to|and|or) *)\*\*[^*\n]*\*\*{{ end }}|\*\* *(-?{{ read__currency() }}{{ read__value() }})[.,!]? *\*\*{{ end }}', 1),
            lambda bold: bold != ''
        )],
        lambda matches: case when len(matches) > 0 then matches end
    )[1] end
{%- endmacro %}


{# `I would recommend 24 months`, `ich empfehle`, `je condamne à`, `判处`: the LLM's own deed; other numbers are what it
   weighs. #}
{% macro read__deed() -%}
    (?i:(?:{{ read__doing() }}){{ read__fillers() }}(-?{{ read__currency() }}{{ read__value() }}))
{%- endmacro %}
{% macro read__doing() -%}
    \b(?:i|we|the court|this court)(?: would| ?''d| ?''ll| will| am| ?''m| therefore| thus| hereby| have)* {{ read__verbs() }}|
    {{- '(?:^|[.!?:;\\n]) *(?:approve|grant|award|offer|impose|assign|recommend|pay)[ :]+|' -}}
    \b(?:sentenced to|let''s (?:say|go with)|should be|ought to be|must be|right (?:number|figure|amount|sentence) is) |
    {{- '\\bich (?:würde|werde|möchte|empfehle|verhänge|schlage|setze|gebe|vergebe|biete|bewillige|genehmige|verurteile) |' -}}
    \bwird zu |
    {{- "\\bj(?:e |'')(?:recommande(?:rais)?|propose(?:rais)?|condamne(?:rais)?|fixe(?:rais)?|prononce(?:rais)?|suggère|" -}}
    donne|choisis|dirais|accorde|attribue|impose) |
    {{- '\\b(?:recomiendo|recomendaría|propongo|impongo|impondría|fijo|fijaría|condeno|sugiero|asigno|apruebo|daría|doy|' -}}
    elijo|ofrezco) |(?:判处|建议|决定|认为|应为|给出|批准|评为|定为|推荐|选择|提供)(?:判处|为)?
{%- endmacro %}
{% macro read__verbs() -%}
    (?:recommend|offer|approve|grant|award|impose|set|propose|suggest|assign|choose|give|pick|say|select|sentence|rate|score|
    {{- 'put|place|pay|estimate|decide|decide on|go (?:with|for)|settle (?:on|for)|opt for|arrive at|end (?:up )?at|' -}}
    stick with|stay at)(?:ing|ed|s)?[ :]+
{%- endmacro %}


{# `24 months is appropriate`, `24 Monate verhängen`. #}
{% macro read__judged() -%}
    (?i:(-?{{ read__currency() }}{{ read__value() }})(?: of [a-z]+)? (?:
    {{- '(?:is|are|would be|seems?|feels?|appears?|ist|sind|wäre|erscheint|est|serait|me semble|es|sería|me parece) ' -}}
    (?:quite |very |most |more |the |just |about |to be |entirely )*
    {{- '(?:appropriate|fair|right|reasonable|proportionate|warranted|justified|adequate|suitable|proper|just\\b|enough|' -}}
    sufficient|better|angemessen|appropriée?|juste|adecuad|apropiad)|it is\b|verhängen|empfehlen|vorschlagen|anbieten))
{%- endmacro %}


{# `Therefore 24`. #}
{% macro read__concluded() -%}
    (?i:\b(?:therefore|thus|hence|so|consequently|accordingly|overall|daher|somit|deshalb|donc|por (?:lo )?tanto),? {# #}
    {{- read__fillers() }}(-?{{ read__currency() }}{{ read__value() }}))
{%- endmacro %}


{# `Twelve months` on a line of its own, after a label or as the LLM's own deed, where no digits are; with what follows it
   in a sentence only if it has a unit, or is one of twenty and above with a stop or a comma behind it. #}
{% macro read__number_words(weighed) -%}
    case
        when regexp_matches({{ weighed }}, '\d') then null
        when regexp_matches({{ weighed }}, '(?i){{ read__words() }}') then coalesce(
            {{ read__matches('lower(' ~ weighed ~ ')', read__words_as_answer(
                read__unit() ~ read__unit(), '(?: (?:(?:of|on) probation|auf bewährung))?[ .!]*(?:\\n|$)'
            )) }},
            {{ read__matches('lower(' ~ weighed ~ ')', read__words_as_answer(
                '(?:' ~ read__months() ~ '|' ~ read__years() ~ ')', '[ ,.;:]'
            )) }},
            {{ read__matches('lower(' ~ weighed ~ ')', read__words_as_answer('', '(?:[,.;:!]| -)', is_large=true)) }}
        )
    end
{%- endmacro %}
{% macro read__words_as_answer(unit, end, is_large=false) -%}
    {%- set words = '(?:' ~ read__words() ~ ')' -%}
    (?i:^|\n|(?:answer|antwort|réponse(?: finale)?|respuesta(?: final)?) is |{{ read__answer_is() }}|{{ read__label_is() }}|
    {{- read__doing() }})\s*{{ read__fillers() }}((?:{{ words }}+(?:{{ read__years() }}),? (?:(?:and|und|et|y) )?)?
    {{- words ~ '*(?:' ~ read__large_words() ~ ')(?:[ -]' ~ words ~ '+)?' if is_large else words ~ '+' }}{{ unit }}){{ end }}
{%- endmacro %}


{# Where a number of twenty or more is written in words and none in digits, what stands beside an answer is none. #}
{% macro read__is_in_words(weighed) -%}
    not regexp_matches({{ weighed }}, '\d') and regexp_matches({{ weighed }}, '(?i){{ read__large_words() }}')
{%- endmacro %}
{% macro read__large_words() -%}
    \b(?:{{ read__tens() }}|(?:(?:{{ read__german() }})und)?(?:{{ read__german_tens() }})|{{ read__french_tens() }}|
    {{- read__spanish_tens() }}|{{ read__spanish_twenties() }}|hundred)\b
{%- endmacro %}


{# Up to nine hundred and ninety-nine in English, up to ninety-nine elsewhere. #}
{% macro read__words() -%}
    \b(?:{{ read__english() }}|{{ read__tens() }}|(?:(?:{{ read__german() }})und)?(?:{{ read__german_tens() }})|
    {{- read__german() }}|{{ read__french() }}|{{ read__french_tens() }}|{{ read__spanish() }}|{{ read__spanish_tens() }}|
    {{- read__spanish_twenties() }}|hundred)\b(?:[ -]|$)?(?:(?:and|et|y) )?|[一二三四五六七八九十]
{%- endmacro %}


{# `two hundred fifteen` is 100 times what stands before `hundred` and once what stands after it; so is `二十四`. Years and
   months are a number each; `thirty thirty-five` is none. #}
{% macro read__words_as_digits(worded) -%}
    list_transform({{ worded }}, lambda said: array_to_string(list_transform(
        regexp_extract_all(said, '.*?\b(?:{{ read__years() }}|{{ read__months() }})\b|.+'),
        lambda words: concat(
            list_reduce(
                list_transform(
                    regexp_extract_all(
                        regexp_replace(words, 'und({{ read__german_tens() }})', ' \1'), '[a-zäöüéíóñß]+|[一二三四五六七八九十]'
                    ),
                    lambda word: case word when 'hundred' then -100 when '十' then -10 else coalesce(
                        {{ read__position('word', read__english()) }} - 1,
                        {% for words in [read__german(), read__french(), read__spanish(), '一|二|三|四|五|六|七|八|九'] -%}
                        {{ read__position('word', words) }},
                        {% endfor -%}
                        20 + {{ read__position('word', read__spanish_twenties()) }},
                        {% for tens in [read__tens(), read__german_tens(), read__french_tens(), read__spanish_tens()] -%}
                        10 * {{ read__position('word', tens) }} + 10,
                        {% endfor -%}
                        0
                    ) end
                ),
                lambda total, value: case
                    when value < 0 then -value * greatest(total, 1)
                    when value = 0 or total % 100 = 0 then total + value
                    when value < 10 and total % 10 = 0 or value < 20 and total % 100 = 60 then total + value
                    when value >= 20 and total % 100 < 10 then total + value
                end,
                0
            ),
            ' ',
            regexp_extract(words, '\b(?:{{ read__multipliers() }}|{{ read__years() }}|{{ read__months() }})\b|年|个月')
        )
    ), ' '))
{%- endmacro %}


{% macro read__position(word, words) -%}
    nullif(list_position(['{{ words | replace('|', "', '") }}'], {{ word }}), 0)
{%- endmacro %}
{% macro read__english() -%}
    zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|
    {{- 'eighteen|nineteen' }}
{%- endmacro %}
{% macro read__tens() -%} twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety {%- endmacro %}
{% macro read__german() -%}
    ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dreizehn|vierzehn|fünfzehn|sechzehn|siebzehn|achtzehn|
    {{- 'neunzehn' }}
{%- endmacro %}
{% macro read__german_tens() -%} zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig {%- endmacro %}
{% macro read__french() -%}
    un|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize
{%- endmacro %}
{% macro read__french_tens() -%} vingt|trente|quarante|cinquante|soixante {%- endmacro %}
{% macro read__spanish() -%}
    un|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieciséis|diecisiete|dieciocho|
    {{- 'diecinueve' }}
{%- endmacro %}
{% macro read__spanish_tens() -%} veinte|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa {%- endmacro %}
{% macro read__spanish_twenties() -%}
    veintiuno|veintidós|veintitrés|veinticuatro|veinticinco|veintiséis|veintisiete|veintiocho|veintinueve
{%- endmacro %}


{# Numbers that cannot be the answer; all are dropped in one pass. The groups are what of a match stays. #}
{% macro read__without_what_is_no_answer(plain) -%}
    regexp_replace(
        regexp_replace(
            {{ plain }}, '(?i)(\d)(k|mn?|mio|bn|mrd|tn|mos?|months?|monate?n?|years?|yrs?|pts?|points?|usd|percent)\b', '\1 \2', 'g'
        ),
        '
        {#- Thinking aloud is not the answer. -#}
        (?is:< ?think ?>.*?</ ?think ?>)|
        {#- A quoted line repeats the question. -#}
        (?m:^ ?>.*$)|
        {#- `3. Because` numbers an argument; `24.` alone on its line is an answer, as is `24. They` where a text begins. -#}
        \A( ?(?:[2-9]|\d\d)\.) |
        {#- -#} (?m:^[ #-]*\d{1,2}[.)] +([^\s\d]))|
        {#- `on a scale of 1 to 100` and `between 1 and 100` tell how to read a score. -#}
        (?i:\bscale (?:of |from |between )?\d+ *(?:-|to|and) *\d+|\(\d+ ?- ?\d+\)|
        {#- -#} (?:\b(?:from|between) )?\b[01] ?(?:-|to|and) ?100\b)|
        {#- `reduced from 36 to 24` is a change, not a range: what it was before is dropped. -#}
        (?i:\b(?:reduc|lower|increas|rais|adjust|revis|chang|mov|cut)[a-z]*[^.\n\d]{0,60}\bfrom [$€£]?
        {{- read__digits() }}{{ read__unit() }} +(?:down +|up +)?to\b)|
        {#- Dates and times of day are no quantities; a year alone stays ambiguous. -#}
        (?:\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}:\d{2}\b)|
        {#- -#} (?:\b\d{1,2}\.? )?\b(?:January|February|March|April|May|June|July|August|September|October|November|
        {#- -#} December|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember),? (?:\d{1,2}(?:st|nd|rd|th)?,? )?(?:19|20)\d{2}\b|
        {#- `§ 56 Abs. 2`, `case 121` and `18 U.S.C. § 3553(a)` are cited; `in this case 24` is not. -#}
        {{- read__citation() }}|
        {#- `12th` counts offences; `B2B`, `GPT4` and `COVID-19` are names. -#}
        (?:\b\d+(?:[.,]\d+)*[A-Za-z][A-Za-z0-9]*|\b[A-Za-z]+\d[A-Za-z0-9.]*\b|\b[A-Z]{2,}-\d+(?:\.\d+)*)|
        {#- `Step 3` and `Section 12` are names of places in a text. -#}
        (?i:\b(?:step|iteration|round|option|part|stage|phase|level|tier|class|grade|factor|question) ?#?\d+(?:\.\d+)*)|
        {#- `"confidence": 90` stands beside a JSON answer that is null. -#}
        (?i:"(?:confidence|certainty|probability|anchor|rank)"\s*:\s*"?\d+(?:\.\d+)?)
        {#- -#} ',
        '\1\3 \2', 'g'
    )
{%- endmacro %}
{% macro read__citation() -%}
    {%- set of = '\\d+[a-z]?(?:\\([a-z0-9]+\\))*(?:[./-](?:[a-z]{1,4}-)?\\d+)*' -%}
    ((?i:\b(?:in|for|on) (?:this|that|such an?|her|his|their|my|our)(?: [a-z]+)? (?:case|file|record|application|claim)|
    {{- '\\bin (?:diesem|dem|einem)(?: [a-zä]+)? fall|\\ben (?:este|ese|tal) caso)\\b)|' -}}
    (?i:(?:§§ ?{{ of }}(?:(?:[,;]| und| and| et| y) ?{{ of }})*|§ ?{{ of }})(?:,? (?:abs|absatz|satz|nr|al|para|lit)\b\.? ?{{ of }})*|
    {{- '\\b(?:art(?:icles?|ikel|ículos?|\\.)?|sections?|sec\\.|paragraphs?|paras?\\.?|absatz|abs\\.|ziffer|rules?|chapters?|' -}}
    kapitel|chapitre|capítulo|schedule|clause|regulation|guideline|exhibit|appendix|annex|pages?|pp?\.|footnotes?|fn\.|nr\.|
    {{- 'no\\.|n[°º]|(?:case|file|record|docket|claim|application|ref(?:erence)?)(?: (?:no\\.?|number|nr\\.?|id))?|' -}}
    aktenzeichen|az\.|fall|dossier|affaire|expediente|caso|causa|id|bgh|stgb|stpo|bgb) ?[#:.]? ?§* ?{{ of }}|
    {{- '\\bbghst \\d+, ?\\d+|#\\d+|' -}}
    \b{{ of }} (?:stgb|stpo|bgb|jgg|u\.s\.c\.|usc|c\.f\.r\.|cfr)(?: ?§+ ?{{ of }})?|
    {{- '\\b\\d+ (?:u\\.s\\.|f\\.(?:[23]d|4th)?|s\\. ?ct\\.|str|js|cr|cv) ' }}{{ of }}|
    {{- '第 ?\\d+ ?[条條款项章号](?: ?第 ?\\d+ ?[款项])?|(?:案件|案号|编号)[::]? ?\\d+ ?号?|\\d+ ?号)' -}}
{%- endmacro %}


{# `not 36`, `instead of the 36 demanded`, `regardless of the $58k anchor`: what the LLM says that it does not answer. #}
{% macro read__without_what_is_denied(kept) -%}
    regexp_replace(
        {{ kept }},
        '(?i)(?:\b{{ read__denial() }} (?:(?:{{ read__between_denial_and_number() }}) )*|(?:不是|而非|并非|不考虑) ?){{ read__currency() }}{{ read__value() }}',
        ' ', 'g'
    )
{%- endmacro %}
{% macro read__denial() -%}
    (?:not|never|neither|nor|cannot|[a-z]+n''t|(?:rather|other) than|instead of|(?:as )?opposed to|in lieu of|versus|vs\.?|
    {{- '(?:ignor|disregard|dismiss|reject)(?:e|es|ed|ing|s)?|set(?:ting)? aside|(?:regardless|irrespective) of|' -}}
    independent(?:ly)? of|despite|notwithstanding|unlike|without (?:anchoring|regard|reference) (?:to|on)|nicht|keine?n?|
    {{- 'statt|anstatt|anstelle von|unabhängig von|trotz|pas|non|ni|au lieu|plutôt que|malgré|no|en (?:lugar|vez)|a pesar)' -}}
{%- endmacro %}
{% macro read__between_denial_and_number() -%}
    on|the|an?|to|for|at|by|as|of|from|with|be|based|anchor(?:ed|ing)?|influenced|affected|swayed|tied|bound|exactly|quite|
    {{- "full|random|arbitrary|demanded|requested|proposed|suggested|original|initial|prosecutor''s|nurse''s|previous|prior|" -}}
    former|past|earlier|figure|number|value|salary|amount|score|demand|request|sentence|term|impose|recommend|give|go|offer|
    {{- 'set|assign|choose|approve|say|award|grant|provide|use|using|her|his|de[rnms]?|die|das|geforderten?|auf|von|à|la|les?|' -}}
    du|des|los|las|el|pas
{%- endmacro %}


{# What stands in parentheses is an aside, and what was at first is not the last word; both are read only if there is
   nothing else. #}
{% macro read__without_asides(stated) -%}
    regexp_replace(
        {{ stated }},
        '\([^()\n]*\d[^()\n]*\)|(?i:\b(?:first|initial|previous|prior|former|earlier|original|starting) (?:[a-z]+ )?{{ read__label() }}(?: was| is| of|:) ?{{ read__currency() }}{{ read__value() }})',
        ' ', 'g'
    )
{%- endmacro %}


{# `15%`, `34-year-old`, `100 hours`, `11 prior`, `3 victims`, `the prosecutor demands 36`, `above 120`, `36 is too harsh`
   stand beside an answer; they are read only if there is nothing else. #}
{% macro read__without_side_numbers(text) -%}
    {%- set number = read__currency() ~ read__value() -%}
    regexp_replace(
        {{ text }},
        '(?i)
        {#- -#} (?:{{ read__digits() }} *(?:-|to) *)?{{ read__digits() }}(?: ?%|\+|[ -]?(?:percent|
        {{- 'years?[ -](?:old|ago|(?:of )?experience|in business)|hours?|minutes?|days?|prior|previous|earlier|offen[cs]es|' -}}
        convictions|counts?|victims?|times|thefts?|charges?|witnesses|conditions|options|steps|reasons|alternatives|factors|
        {{- 'reports|employees|children)\\b)|\\[\\d{1,2}\\]|\\b(?:in|since|for|of|until|by) (?:19|20)\\d{2}\\b|' -}}
        (?:prosecut[a-z]*|defen[cs]e|staatsanwalt[a-z]*|procureur|fiscal|nurse|applicant|candidate|borrower|plaintiff|she|he|
        {{- "they)(?:''s)? [^.,;:!?\\n\\d]{0,30}?(?:demand|request|ask|call|seek|sought|propos|suggest|want|argu|earn|forder|" -}}
        verlang|requiert|pide|solicita)[^.,;:!?\n\d]{0,20}{{ number }}|检察官要求{{ number }}|
        {{- "\\bdefen[cs]e (?:for|says) " }}{{ number }}|(?:prosecutor|nurse|applicant|candidate)''s {{ number }}|
        {{- '\\b(?:demand|request|asking price|anchor(?: figure| value)?|(?:previous|prior|former|current|old) [a-z]+)(?:s|ed)?' -}}
        (?: was| is| of|:)? {{ number }}|
        {{- number }} (?:that )?(?:were |was )?(?:demanded|requested|asked for|sought|at first|gefordert|demandés|solicitados)|
        {{- number }}(?: of [a-z]+)? (?:is|are|would be|would have been|seems?|ist|sind|wäre|serait|sería) (?:[a-z]+ )?
        {{- '(?:not (?:appropriate|fair|right|reasonable|justified|enough)|too|zu|trop|demasiado|excessive|harsh|unreasonable|insufficient)\\b|' -}}
        \b(?:above|below|(?:low|high|great|few|long|short)er than|(?:less|more) than|exceed(?:s|ing)?|(?:up|down) from|
        {{- 'compared (?:to|with)|(?:maxi|mini)mum of|up to|would have said) (?:the |a )?' }}{{ number }}|{{ number }}\? |{{ number }} anchor\b',
        ' ', 'g'
    )
{%- endmacro %}


{# An LLM that declines often repeats the anchor, so this comes before the numbers; `I cannot go above 36` declines
   that number only, so such clauses do not count. #}
{% macro read__is_refusal(kept) -%}
    case when regexp_matches({{ kept }}, '(?i)\b(?:can ?not|can''t|won''t|will not|unable|not able|comfortable|not appropriate|inappropriate|not in a position|rather not|declin|refuse|don''t think|ich (?:kann|werde|lehne)|je (?:ne|refuse)|no puedo)|无法|不能|拒绝') then
        regexp_matches(
            regexp_replace({{ kept }}, '{{ read__limits() }}', ' ', 'g'),
            '(?i)(?:\b(?:i|we)\b(?:''m|''d)?(?: [a-z'']+){0,4}? ?|as an ai\b[^.!?\n]{0,80}?|(?:^|[\n.!?:,;"]) *)\b(?:can ?not|can''t|won''t|will not|unable to|not able to|(?:not|n''t) (?:feel )?comfortable|not appropriate|inappropriate|not in a position to|rather not|declin(?:e|ing)|refuse|don''t think(?: it''s| it is| i can| i should)?)\b[^.!?\n]{0,60}?\b(?:{{ read__refused_deeds() }})|\b(?:i|we)\b(?: [a-z'']+){0,4} (?:decline|refuse)\b *(?:[.,!;\n]|$)|\binappropriate (?:for me )?to (?:{{ read__refused_deeds() }})|\bdon''t feel comfortable (?:{{ read__refused_deeds() }})|{{ read__foreign_refusals() }}'
        )
    else false end
{%- endmacro %}


{# What is declined when the number is declined. #}
{% macro read__refused_deeds() -%}
    (?:provid|recommend|determin|assign|giv|offer|suggest|answer|mak|set|decid|generat|produc|specif|state|name|assess|
    {{- 'estimat|help|assist|comply|participat|fulfil|rat(?:e|ing)\\b|choos|complet|sentenc(?:e|ing)\\b|do (?:this|that|so)\\b)' -}}
    [a-z]*
{%- endmacro %}


{# The same in German, French, Spanish and Chinese, where the deed must be named too. #}
{% macro read__foreign_refusals() -%}
    \bich (?:kann|werde) [^.!?\n\d]{0,60}?(?:nicht|keine?n?)\b[^.!?\n]{0,60}?
    {{- '(?:geben|nennen|empfehlen|festlegen|bestimmen|antworten|machen|helfen|bereitstellen|treffen|vorschlagen)\\b|' -}}
    \bich lehne [^.!?\n\d]{0,60}?\bab\b|
    {{- '\\bje ne (?:peux|suis) [^.!?\\n\\d]{0,30}?\\b(?:pas|en mesure)\\b[^.!?\\n\\d]{0,30}?(?:fourni|donne|recommande|' -}}
    détermine|propose|répond|attribue|indique|fixe|aide)r?|\bje refuse\b|
    {{- '\\bno puedo [^.!?\\n\\d]{0,30}?(?:proporciona|da|recomenda|determina|ofrece|responde|asigna|indica|ayuda|' -}}
    sugeri|establece)r|
    {{- '我(?:无法|不能|拒绝)[^.!?\\n\\d]{0,12}(?:提供|给出|推荐|建议|回答|确定|判断|协助|评估)' -}}
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
