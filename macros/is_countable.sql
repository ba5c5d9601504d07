{# Whether a trial that the gate looks at has an answer that counts as a number. #}
{% macro is_countable() -%}
    status = 'answered' and not is_quarantined and number is not null
{%- endmacro %}
