{# The part of a reply that is its answer: all of it or, where a marker is asked for, what follows the last one, without the
   end of its emphasis; null where nothing does. Pure Jinja, which `ingest` renders too: what judges and the later calls of a
   technique are shown is what the tables hold. #}
{% macro answer_in(text, marker) -%}
    case
        when {{ marker }} is null then {{ text }}
        when contains({{ text }}, {{ marker }})
            then nullif(
                trim(
                    both ' ' || chr(9) || chr(10) || chr(13)
                    from regexp_replace(split_part({{ text }}, {{ marker }}, -1), '^[*_]{2,3}([\t\n\f\r ]|\z)', '')
                ),
                ''
            )
    end
{%- endmacro %}
