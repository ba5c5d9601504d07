{# A view of one part of a fitted table: rows that bear the model's name, in the columns that its contract declares. #}
{% macro part_of(fitted) -%}
{{ config(materialized='view', contract={'enforced': true}) }}
select {{ declared_columns() }}
from {{ fitted }}
where part = '{{ model.name }}'
{%- endmacro %}
