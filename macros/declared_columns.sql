{# The columns that the model's contract declares, in its order; a unit test, which declares none, takes all. #}
{% macro declared_columns() -%}
    {{ model.columns | join(', ') if model.columns else '*' }}
{%- endmacro %}
