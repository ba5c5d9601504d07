{# Of the two numbers that a dot makes of `3.350`, 3.35 and 3350, the one that is meant: the one that the vignette allows where
   it does not allow the other, else the one that is nearer, by their ratio, to the usual number of the cell (an LLM's other
   answers to the same vignette and item); null where neither tells. Pure Jinja: the models, the gate and the collector
   render it alike. #}
{% macro number_in_cell(if_decimal, if_grouped, usual_number, valid_min, valid_max) -%}
    {%- set decimal_is_allowed = number__is_allowed(if_decimal, valid_min, valid_max) -%}
    {%- set grouped_is_allowed = number__is_allowed(if_grouped, valid_min, valid_max) -%}
    case
        when {{ decimal_is_allowed }} and not {{ grouped_is_allowed }} then {{ if_decimal }}
        when {{ grouped_is_allowed }} and not {{ decimal_is_allowed }} then {{ if_grouped }}
        when {{ usual_number }} * {{ usual_number }} > {{ if_decimal }} * {{ if_grouped }} then {{ if_grouped }}
        when {{ usual_number }} is not null then {{ if_decimal }}
    end
{%- endmacro %}
{% macro number__is_allowed(number, valid_min, valid_max) -%}
    (coalesce({{ number }} >= {{ valid_min }}, true) and coalesce({{ number }} <= {{ valid_max }}, true))
{%- endmacro %}


{# Whether a text may hold such a number at all: what is usual in a cell is looked up where one does. #}
{% macro may_group_by_dots(text) -%} regexp_matches({{ text }}, '[1-9]\d{0,2}\.\d{3}') {%- endmacro %}


{# Whether a number, as a multiple of the usual one, is off by about a thousand. #}
{% macro is_a_thousand_off(factor) -%}
    ({{ factor }} between 300 and 3000 or {{ factor }} between 1 / 3000.0 and 1 / 300.0)
{%- endmacro %}
