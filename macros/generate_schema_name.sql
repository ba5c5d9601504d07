{# Schemas bear the names that DESIGN and users know (`marts`), not `main_marts`. #}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ engine_schema((custom_schema_name or target.schema) | trim) }}
{%- endmacro %}
