{# The part of a reply that is its answer: all of it or, where a marker is asked for, what follows the last one; null where
   nothing does. Pure Jinja, which `ingest` renders too: judges are shown what the tables hold. #}
{% macro answer_in(text, marker) -%}
    case
        when {{ marker }} is null then {{ text }}
        when contains({{ text }}, {{ marker }})
            then nullif(trim(split_part({{ text }}, {{ marker }}, -1), ' ' || chr(9) || chr(10) || chr(13)), '')
    end
{%- endmacro %}
