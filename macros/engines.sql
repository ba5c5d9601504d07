{# What DuckDB and Spark say differently, here and nowhere else. Pure Jinja, since `ingest` renders it too, as DuckDB; on
   DuckDB each macro gives what a model would say without it. What is read in a text, DuckDB reads on both: on Spark
   within a function that bais/on_spark.py registers. #}


{# All columns of a relation but some. #}
{% macro all_but(columns, of=none) -%}
    {{ of ~ '.' if of }}* {{ 'except' if target.type == 'spark' else 'exclude' }} ({{ columns | join(', ') }})
{%- endmacro %}


{# All columns of a relation, some of them replaced, others left out. On Spark the replaced ones come last: what is joined
   to it by `union all` has to say so too, with `all_with_last`. #}
{% macro all_with(replaced, of=none, left_out=[]) -%}
    {%- if target.type == 'spark' -%}
    {{ all_but(left_out + (replaced | list), of) }}
    {%- for column, value in replaced.items() %}, {{ value }} as {{ column }}{% endfor -%}
    {%- else -%}
    {{ of ~ '.' if of }}*{% if left_out %} exclude ({{ left_out | join(', ') }}){% endif %} replace (
    {%- for column, value in replaced.items() %}{{ value }} as {{ column }}{{ ', ' if not loop.last }}{% endfor -%}
    )
    {%- endif -%}
{%- endmacro %}


{# All columns, in the order in which `all_with` gives them where it replaces these. #}
{% macro all_with_last(columns) -%}
    {%- if target.type == 'spark' -%} {{ all_but(columns) }}, {{ columns | join(', ') }} {%- else -%} * {%- endif -%}
{%- endmacro %}


{# `group by all`; Spark has to be told the columns where a column of the result is made of others. #}
{% macro group_by(columns) -%}
    group by {{ columns | join(', ') if target.type == 'spark' else 'all' }}
{%- endmacro %}


{# A sum in the order of the values, so that it has the same last digit each time; Spark cannot promise that. #}
{% macro sum_in_order(value, by) -%}
    sum({{ value }}{{ ' order by ' ~ by if target.type != 'spark' }})
{%- endmacro %}


{# Some value of a group that is not null, if it has one. #}
{% macro some_value(value) -%}
    any_value({{ value }}{{ ', true' if target.type == 'spark' }})
{%- endmacro %}


{# The distinct texts of a group in one, in order. #}
{% macro texts_joined(value) -%}
    {%- if target.type == 'spark' -%}
    string_agg(distinct {{ value }}, '; ') within group (order by {{ value }})
    {%- else -%}
    string_agg(distinct {{ value }}, '; ' order by {{ value }})
    {%- endif -%}
{%- endmacro %}


{# Several values under names, or under those of the columns that they are. #}
{% macro struct_of(fields) -%}
    {%- if target.type == 'spark' -%}
    named_struct(
        {%- for name, value in (fields.items() if fields is mapping else zip(fields, fields)) -%}
        '{{ name }}', {{ value }}{{ ', ' if not loop.last }}
        {%- endfor -%}
    )
    {%- elif fields is mapping -%}
    struct_pack({% for name, value in fields.items() %}{{ name }} := {{ value }}{{ ', ' if not loop.last }}{% endfor %})
    {%- else -%}
    struct_pack({{ fields | join(', ') }})
    {%- endif -%}
{%- endmacro %}


{# A row for each of several values. #}
{% macro a_row_each(values) -%}
    {{ 'explode(array(' ~ values | join(', ') ~ '))' if target.type == 'spark' else 'unnest([' ~ values | join(', ') ~ '])' }}
{%- endmacro %}


{# The day of a time, in UTC: a session on Spark is in UTC. #}
{% macro day_of(time) -%} {{ time if target.type == 'spark' else '(' ~ time ~ " at time zone 'UTC')" }}::date {%- endmacro %}


{# A member of a JSON object as JSON, and the last one of a list that is a member. #}
{% macro json_text(json, name) -%}
    {%- if target.type == 'spark' -%} get_json_object({{ json }}, '$.{{ name }}') {%- else -%} {{ json }} ->> '$.{{ name }}' {%- endif -%}
{%- endmacro %}
{% macro json_last(json, name) -%}
    {%- if target.type == 'spark' -%}
    try_element_at(from_json(get_json_object({{ json }}, '$.{{ name }}'), 'array<string>'), -1)
    {%- else -%}
    {{ json }} -> '$.{{ name }}[#-1]'
    {%- endif -%}
{%- endmacro %}
{% macro json_texts(json) -%}
    {%- if target.type == 'spark' -%} from_json({{ json }}, 'array<string>') {%- else -%} from_json({{ json }}::json, '["varchar"]') {%- endif -%}
{%- endmacro %}


{# The number that a mapping of the project gives a name. #}
{% macro number_by_name(mapping, name) -%}
    {%- if target.type == 'spark' -%}
    case {{ name }}{% for known, number in mapping.items() %} when '{{ known }}' then {{ number }}{% endfor %} end::double
    {%- else -%}
    ('{{ mapping | tojson }}'::json ->> {{ name }})::double
    {%- endif -%}
{%- endmacro %}


{# A text without spaces around it: all of Unicode, which DuckDB alone means by default. #}
{% macro trimmed(text) -%}
    trim(both '{{ ' \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000' }}' from {{ text }})
{%- endmacro %}


{# What is read in a text: by an expression on DuckDB, and on Spark by the same one in a function. #}
{% macro number_reading(text, unit) -%}
    {{ 'bais_read_response(' ~ text ~ ', ' ~ unit ~ ')' if target.type == 'spark' else read_response(text, unit) }}
{%- endmacro %}
{% macro label_reading(text, labels, reading, options) -%}
    {{ 'bais_read_label(' ~ [text, labels, reading, options] | join(', ') ~ ')' if target.type == 'spark'
        else read_label(text, labels, reading, options) }}
{%- endmacro %}


{# Spark's catalogue may be that of many: there schemas begin with a name of the build's own. #}
{% macro engine_schema(name) -%}
    {{ target.schema ~ '_' ~ name if target.type == 'spark' else name }}
{%- endmacro %}


{# Where dbt-spark puts a table, and in which format: to Parquet in the folder of the build. #}
{% macro spark__location_clause() -%}
    location '{{ env_var("BAIS_SPARK_FOLDER") }}/{{ model.config.schema }}/{{ model.alias }}'
{%- endmacro %}
{% macro spark__file_format_clause() -%} using parquet {%- endmacro %}


{# Structs that hold one row each, as rows. #}
{% macro rows_of(structs) -%}
    {%- set rows = structs | join(', ') -%}
    {{ 'inline(array(' ~ rows ~ '))' if target.type == 'spark' else 'unnest([' ~ rows ~ '], recursive := true)' }}
{%- endmacro %}


{# A value of a unit test's row in a type; dbt-spark knows no lists and no maps. #}
{% macro spark__safe_cast(value, type) -%}
    {%- if value is mapping -%}
    cast(map({% for name, one in value.items() %}'{{ name }}', {{ one }}{{ ', ' if not loop.last }}{% endfor %}) as {{ type }})
    {%- elif value is sequence and value is not string -%}
    cast(array({% for one in value %}'{{ one }}'{{ ', ' if not loop.last }}{% endfor %}) as {{ type }})
    {%- else -%}
    cast({{ value }} as {{ type }})
    {%- endif -%}
{%- endmacro %}


{# Whether two relations have the same in some columns, null included; here, since `ingest` renders what joins so. #}
{% macro same_in(left, right, columns) -%}
    {%- for column in columns -%}
        {{ left }}.{{ column }} is not distinct from {{ right }}.{{ column }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}
