{# The one place where a label or a choice is read from an LLM's answer: pure Jinja that expands to one DuckDB expression,
   which `ingest` renders too. `labels` and `options` are SQL lists, one of them null: what may be said, or the ids of what
   was shown as A, B, C. Letters are tried before ids. `reading` is `strict` (the reply is the label alone) or `first_word`
   (it begins with it). A reply that names two labels is read as none: a wrong label is worse than none. #}
{% macro read_label(text, labels, reading, options='null') -%}
    {%- set steps = [
        ('bare', read__bare('asked_text')),
        ('spelled', read__spelled('asked_labels', 'asked_options')),
        ('named', read__named('spelled', 'bare', 'asked_reading')),
        ('found', 'list_sort(named)[1]'),
        ('others', read__others('spelled', 'bare', 'found')),
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
                when found is not null and len(others) = 0
                    then {{ read__label_outcome('answered', label="found['label']") }}
                when found is null and {{ read__is_refusal(read__as_plain_text(read__as_ascii('asked_text'))) }}
                    then {{ read__label_outcome('refused', reason="'refused'") }}
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


{# Without markdown, quotes, brackets around it and final punctuation; a dash of its own starts a line of a list. #}
{% macro read__bare(text) -%}
    {%- set steps = [
        ('[*`~"''''«»]|__', ''), ('[ \t\\x{a0}]+', ' '), ('^(?:[\\s>#(\\[{_]|- )+', ''), ('^((?i)option)[: ]+[(\\[]?', '\\1 '),
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
        list_concat(
            list_transform({{ places }}, lambda place: {{ read__spelling(of_place, 'chr(64 + place::integer)', 1) }}),
            list_concat(
                list_transform(
                    {{ places }}, lambda place: {{ read__spelling(of_place, "'option ' || chr(64 + place::integer)", 1) }}
                ),
                list_transform({{ places }}, lambda place: {{ read__spelling(of_place, of_place, 2) }})
            )
        )
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
        when one['spelling'] = '' then false
        when lower({{ bare }}) = one['spelling'] then true
        when {{ reading }} = 'first_word' and starts_with(lower({{ bare }}), one['spelling'])
            then case
                when one['is_letter']
                    then regexp_matches(substr({{ bare }}, length(one['spelling']) + 1), '^ *(?:[\n.,;:!?)\]}]|-+ )')
                else regexp_matches(substr({{ bare }}, length(one['spelling']) + 1), '^[^\pL\pN-]')
            end
        else false
    end)
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
