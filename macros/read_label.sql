{# The one place where a label or a choice is read from an LLM's answer: pure Jinja that expands to one DuckDB expression,
   which `ingest` renders too. `labels` and `options` are SQL lists, one of them null: what may be said, or the ids of what
   was shown as A, B, C. Letters are tried before ids. `reading` is `strict` (the reply is the label alone, or one sentence
   that says no more than that and why) or `first_word` (it begins with it, and anything may follow; or all that it gives as
   its answer is one letter). A reply that names two labels is read as none, but where it weighs the others beside the one
   letter that it answers, and one that chooses and declines is refused: a wrong label is worse than none. #}
{% macro read_label(text, labels, reading, options='null') -%}
    {%- set steps = [
        ('bare', read__bare('asked_text')),
        ('spelled', read__spelled('asked_labels', 'asked_options')),
        ('after_words', read__after_words('bare', 'asked_text')),
        ('after_article', "case when after_words ilike 'the %' then substr(after_words, 5) end"),
        ('named', read__named('spelled', 'bare', 'asked_reading')),
        ('named_after_words', read__named_in_sentence('spelled', 'after_words', 'after_article', 'asked_reading')),
        ('named_after_article', read__named_in_sentence('spelled', 'after_article', 'after_article', 'asked_reading')),
        ('is_in_sentence', 'len(named) = 0 and len(named_after_words) + len(named_after_article) > 0'),
        ('said', "case
            when not is_in_sentence then bare when len(named_after_words) > 0 then after_words else after_article
        end"),
        ('found', 'list_sort(case
            when not is_in_sentence then named when len(named_after_words) > 0 then named_after_words
            else named_after_article
        end)[1]'),
        ('others', read__others('spelled', 'said', 'found')),
        ('unmarked', "regexp_replace(" ~ read__as_ascii('asked_text') ~ ", '[*`$]|\\\\(?:boxed|text)\\b|[{}]', '', 'g')"),
        ('answered_letters', read__letters('unmarked', 'asked_options')),
        ('chosen_letters', read__letters('unmarked', 'asked_options', also_chosen=true)),
        ('is_one_letter', "asked_reading = 'first_word' and len(answered_letters) > 0 and len(chosen_letters) = 1
            and not regexp_matches(unmarked, '\\b(?i:wait|reconsider|on second thought|correction)\\b')"),
    ] -%}
    (
        with step_0 as (
            select
                {{ text }} as asked_text, {{ labels }}::varchar[] as asked_labels,
                {{ options }}::varchar[] as asked_options, {{ reading }} as asked_reading
        ){% for name, expression in steps %},
        step_{{ loop.index }} as (select *, {{ expression }} as {{ name }} from step_{{ loop.index0 }}){% endfor %}
        select
            case
                when coalesce(bare, '') = '' then {{ read__label_outcome('unparsed', reason="'no_text'") }}
                when
                    (found is null or is_in_sentence)
                    and {{ read__is_refusal(read__as_plain_text(read__as_ascii('asked_text'))) }}
                    then {{ read__label_outcome('refused', reason="'refused'") }}
                when found is not null and len(others) = 0
                    then {{ read__label_outcome('answered', label="found['label']") }}
                when is_one_letter
                    then {{ read__label_outcome('answered', label="asked_options[ascii(chosen_letters[1]) - 64]") }}
                when len(others) > (found is null)::integer
                    then {{ read__label_outcome('unparsed', reason="'ambiguous'") }}
                else {{ read__label_outcome('unparsed', reason="'no_label'") }}
            end
        from step_{{ steps | length }}
    )
{%- endmacro %}


{# One type for every outcome, so that a column of them is one. #}
{% macro read__label_outcome(status, label='null', reason='null') -%}
    {'label': {{ label }}::varchar, 'status': '{{ status }}', 'reason': {{ reason }}::varchar}
{%- endmacro %}


{# Without markdown, quotes, brackets around it and final punctuation; a dash of its own starts a line of a list, and an
   underscore that is left parts words. #}
{% macro read__bare(text) -%}
    {%- set steps = [
        ('[*`~"\'\'«»]|__', ''), ('_', ' '), ('[ \t\\x{a0}]+', ' '), ('^(?:[\\s>#(\\[{_]|- )+', ''), ('^((?i)option)[: ]+[(\\[]?', '\\1 '),
        ('[\\s)\\]}_.,;:!?]+$', ''),
    ] -%}
    {%- set made = namespace(text=read__as_ascii(text)) -%}
    {%- for pattern, by in steps -%}
        {%- set made.text = "regexp_replace(" ~ made.text ~ ", '" ~ pattern ~ "', '" ~ by ~ "', 'g')" -%}
    {%- endfor -%}
    {{ made.text }}
{%- endmacro %}


{# Every way to spell a label. What may be an article or a pronoun (`A`, `I`) has to stand alone. The fields are in the
   order of preference: letters before ids, then the longest spelling. #}
{% macro read__spelled(labels, options) -%}
    {%- set places = 'range(1, 1 + coalesce(len(' ~ options ~ '), 0))' -%}
    {%- set of_place = options ~ '[place]' -%}
    list_concat(
        list_transform(coalesce({{ labels }}, []::varchar[]), lambda label: {{ read__spelling('label', 'label', 1) }}),
        {%- for spelling, preference in [
            ('chr(64 + place::integer)', 1), ("'option ' || chr(64 + place::integer)", 1), (of_place, 2)
        ] %}
        list_transform({{ places }}, lambda place: {{ read__spelling(of_place, spelling, preference) }}){{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}
{% macro read__spelling(label, spelling, preference) -%}
    {
        'preference': {{ preference }},
        'shortness': -length({{ spelling }}),
        'spelling': lower({{ read__bare(spelling) }}),
        'is_letter': length({{ spelling }}) = 1,
        'label': {{ label }}
    }
{%- endmacro %}


{# The spellings that the reply is, or begins with. #}
{% macro read__named(spelled, bare, reading) -%}
    list_filter({{ spelled }}, lambda one: case
        when one['spelling'] = '' or not starts_with(lower({{ bare }}), one['spelling']) then false
        when {{ read__is_all('one', bare, reading) }} then true
        when {{ reading }} != 'first_word' then false
        when one['is_letter']
            then regexp_matches(substr({{ bare }}, length(one['spelling']) + 1), '^ *(?:[\n.,;:!?)\]}]|-+ )')
        else regexp_matches(substr({{ bare }}, length(one['spelling']) + 1), '^[^\pL\pN-]')
    end)
{%- endmacro %}


{# The spellings that follow the words that lead to a choice, or an article. A small `a` or `i` there may begin something
   else, as in a reply that was cut off. #}
{% macro read__named_in_sentence(spelled, said, after_article, reading) -%}
    list_filter({{ spelled }}, lambda one: case
        when one['spelling'] = '' or {{ said }} = bare or not coalesce(starts_with(lower({{ said }}), one['spelling']), false)
            then false
        when one['spelling'] in ('a', 'i') and not starts_with({{ said }}, upper(one['spelling'])) then false
        when {{ read__is_all('one', said, reading, after_article) }} then true
        else
            {{ reading }} = 'first_word'
            and regexp_matches(substr({{ said }}, length(one['spelling']) + 1), '^[)\]}]?(?:[.!][\s)]|[:\n])')
    end)
{%- endmacro %}


{# Whether nothing follows a spelling but words that choose it once more and, in the same sentence, a reason: no condition
   (`A if it is free`), no second thought (`A, but`), nothing that a word may belong to (`A good plan`, `more water`), unless
   an article says that it does (`the large option`). #}
{% macro read__is_all(one, said, reading, after_article='null') -%}
    regexp_matches(
        substr({{ said }}, length({{ one }}['spelling']) + 1),
        '^[)\]}]?'
        || case
            when {{ one }}['is_letter'] then '(?:{{ read__named_again() }}| (?i)(?:is|would be) (?:better|best|preferable|correct|right))'
            when {{ after_article }} is not null then '(?: (?i)(?:plan|{{ read__choice() }}))?{{ read__named_again() }}'
            else '{{ read__named_again() }}'
        end
        || '(?i)(?: here| in this (?:case|situation|scenario))?(?:$|[ ,:;(-]+{{ read__reason() }}'
        || case {{ reading }} when 'first_word' then ')' else '(?:[^.!?\n]|[.!?]\S)*$)' end
    )
{%- endmacro %}
{% macro read__named_again() -%}
    (?i)(?: it is| (?:is|would be|will be) (?:my {{ read__praise() }}{{ read__choice() }}|
    {{- 'the (?:best|better|right|correct|preferable|preferred|most appropriate|more appropriate)(?: ' ~ read__choice() ~ ')?))?' -}}
{%- endmacro %}
{% macro read__reason() -%}
    (?:because|since|as (?:it|its|this|that|they|my|the|there)|due to|based on)\b
{%- endmacro %}


{# Without the words that lead to a choice: `I would choose`, `My answer is`, `Choice:`. None of them says no, asks, or
   leaves it open, and the reply is no question and no record. What is chosen may stand in brackets, or after the word `option`. #}
{% macro read__after_words(bare, text) -%}
    {%- set verbs -%}
        (?:choose|chose|pick|picked|select|selected|take|prefer|recommend|advise|suggest|favou?r|hire|say|answer|respond|opt|vote|go|
        {{- 'settle|decide|decided)(?: (?:with|for|on|that))?(?: (?:choosing|picking|selecting|taking|going with|opting for))?' -}}
    {%- endset -%}
    {%- set surely = '(?: (?:definitely|clearly|certainly|probably|personally|therefore|thus|hence|strongly|rather|still))?' -%}
    {%- set nouns -%}
        (?:answer|response|reply|letter|label|vote|verdict|conclusion|advice|classification|category|class|sentiment|tone|framing|
        {{- 'rating|judge?ment|statement|claim|text|review|summary|article|passage|message|comment|' ~ read__choice() ~ ')' -}}
    {%- endset -%}
    {%- set openings -%}
        (?:(?:so|therefore|thus|hence|overall|personally|ultimately|in my (?:opinion|view)|in this (?:case|situation|scenario)|
        {{- 'if i (?:had|have) to choose|if forced to choose|based on (?:the|these)(?: [a-z]+){1,4}?)[,:]? )?' -}}
    {%- endset -%}
    {%- set ways = [
        "(?:(?:i|we)(?: would| will| shall|d|ll| must| should)?(?: like to| want to| have to)?" ~ surely ~ " )?" ~ verbs,
        "(?:i|we)(?: am|m| are|re) going to " ~ verbs,
        "(?:lets|let us) " ~ verbs,
        "(?:i|we)(?: have|ve)" ~ surely ~ " (?:chosen|picked|selected|decided (?:on|for)|opted for|settled on)",
        "(?:(?:i|we)(?: am|m| are|re) )?(?:choosing|picking|selecting|taking|going with|opting for)",
        "(?:(?:my|the|this|its|our) )?" ~ read__praise() ~ nouns ~ "(?: (?:of|for) (?:my|the|this|that) " ~ nouns ~ ")?"
        ~ "(?: ?[:=]| -| (?:is|would be|will be)" ~ surely ~ ":?)",
        "(?:it|this|that)(?: is| would be|s)" ~ surely,
        "(?:(?:i|we)(?: would|d)? (?:think|believe|guess|suppose)(?: that)?)",
        "(?:i|we)(?: would| will|d|ll)?",
        "(?:the )?(?:choice|letter|alternative)",
    ] -%}
    {%- set thought = "(?:(?:i|we)(?: would|d)? (?:think|believe|guess|suppose|say)(?: that)?,? )?" -%}
    case when regexp_matches({{ text }}, '^\s*[{<]|\?\W*$') then {{ bare }} else regexp_replace(
        regexp_replace(
            {{ bare }},
            '^(?i){{ openings }}{{ thought }}(?:{{ ways | join("|") }}):?\s(?:(?:the )?(?:choice|letter|answer|alternative|label|candidate|plan|program(?:me)?)[: ]+)?[\s(\[{]*',
            ''
        ),
        '^((?:the )?(?i)option)[: ]+[(\[]?',
        '\1 '
    ) end
{%- endmacro %}
{% macro read__choice() -%}
    (?:choice|pick|selection|option|decision|recommendation|preference|answer|one|alternative)
{%- endmacro %}
{% macro read__praise() -%}
    (?:(?:final|best|better|correct|right|preferred|preferable|overall|recommended|chosen|selected|appropriate|most appropriate|
    {{- 'more appropriate|most likely|logical|rational|optimal) )*' -}}
{%- endmacro %}


{# The other labels, spelled as the one that was found is, that the rest of the reply names; all that it names where none
   was found. #}
{% macro read__others(spelled, bare, found) -%}
    list_transform(
        [' ' || regexp_replace(
            substr({{ bare }}, 1 + coalesce(length({{ found }}['spelling']), 0)), '[^\pL\pN]+', ' ', 'g'
        ) || ' '],
        lambda words: list_distinct(list_transform(
            list_filter({{ spelled }}, lambda one:
                ({{ found }} is null or (one['label'] != {{ found }}['label'] and one['preference'] = {{ found }}['preference']))
                and case
                    when one['is_letter'] then contains(words, ' ' || upper(one['spelling']) || ' ')
                    else contains(
                        lower(words), ' ' || trim(regexp_replace(one['spelling'], '[^\pL\pN]+', ' ', 'g')) || ' '
                    ) and regexp_matches(one['spelling'], '[\pL\pN]')
                end
            ),
            lambda one: one['label']
        ))
    )[1]
{%- endmacro %}


{# The letters that a reply gives as its answer: it begins with one (`B. This`), says so (`the answer is (B)`), or ends with
   a line of nothing else; or also those that it prefers in any other way, or begins a line with. #}
{% macro read__letters(text, options, also_chosen=false) -%}
    {%- set says -%}
        (?i:(?:^|[\n.,:;]\s*|\b(?:the|my|our|so)\s+){{ read__praise() }}(?:answer|choice)
        {{- '(?: is| would be| should be|:)[:\\s]*(?:option )?)[(\\[]*' }}
    {%- endset -%}
    {%- set ends -%} (?:[.):\]\n]|\s*$|[,;] (?:as|because|since|due|which|not)\b) {%- endset -%}
    {%- set verbs -%}
        (?:choos|select|pick|recommend|prefer|suggest|favou?r|go(?:ing)? with|opt(?:ing)? for|settle on|answer)[a-z]*
    {%- endset -%}
    {%- set better -%} (?:best|better|right|correct|optimal|preferable|more (?:likely|probable|common|reliable)) {%- endset -%}
    {%- set patterns = [
        '^\\W*([A-Z])(?:[.):]|\\s*\\n)',
        says ~ '([A-Z])' ~ ends,
        '\\n\\W*([A-Z])\\W*$',
    ] -%}
    {%- set others = [
        '\\n\\W*([A-Z])(?:[.):]|\\s*\\n)',
        says ~ '[A-Z][)\\]]?(?:,? (?:or|and)|,| ?/) *[(\\[]?([A-Z])\\b',
        '\\b(?i:' ~ verbs ~ '(?: \\w+){0,2} )[(\\[]?([A-Z])\\b',
        '\\b([A-Z])\\)?(?: \\([^)]*\\))?(?i: (?:is|are|would be|seems|offers|provides|has)(?: \\w+){0,3} ' ~ better ~ '\\b)',
        '\\b(?i:' ~ better ~ '(?: \\w+){0,2} (?:is|would be|seems)(?: \\w+){0,2} )[(\\[]?([A-Z])\\b',
    ] -%}
    list_distinct(list_filter(
        list_concat(
            {%- for pattern in patterns + (others if also_chosen else []) %}
            regexp_extract_all({{ text }}, '{{ pattern }}', 1){{ ',' if not loop.last }}
            {%- endfor %}
        ),
        lambda letter: ascii(letter) - 64 between 1 and coalesce(len({{ options }}), 0)
    ))
{%- endmacro %}
