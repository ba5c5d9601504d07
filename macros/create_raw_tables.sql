{# Makes the tables of `raw` that are not there, and the columns that a warehouse of an older version lacks, as
   models/staging/sources.yml declares them. ingest/raw.py calls the two macros below with the same declarations. #}
{% macro create_raw_tables() %}
{% if execute and target.type != 'spark' %}
{% set raw = graph.sources.values() | selectattr('source_name', 'equalto', 'raw') %}
{{ raw_statements(
    raw, run_query(raw_columns_there()).columns[0].values(), run_query(raw_views_there()).columns[0].values()
) }}
{% endif %}
{% endmacro %}


{# Every column with its meaning, as text. #}
{% macro raw_columns_there() %}
select concat_ws(' ', table_name, column_name, comment) from duckdb_columns()
where database_name = current_database() and schema_name = 'raw'
{% endmacro %}


{# Tables that lie in a folder (ingest/folder.py): here they are views. #}
{% macro raw_views_there() %}
select view_name from duckdb_views() where database_name = current_database() and schema_name = 'raw'
{% endmacro %}


{# A column that comes to a table later may be null, whatever is declared: the rows that are there have no value for it.
   A table that is made with all its columns needs none of that: 450 statements of the first load. #}
{% macro raw_statements(tables, there=(), views=()) %}
{%- set tables_there = [] %}
{%- for described in there %}{% set _ = tables_there.append(described.split(' ')[0]) %}{% endfor %}
create schema if not exists raw;
{% for table in tables if table.name not in views %}
create table if not exists raw.{{ table.name }} (
    {%- for column in table.columns.values() %}
    {{ column.name }} {{ column.data_type }}{{ ' not null' if column.constraints }}{{ ',' if not loop.last }}
    {%- endfor %}
);
comment on table raw.{{ table.name }} is '{{ table.description | trim | replace("'", "''") }}';
{%- for column in table.columns.values() if [table.name, column.name, column.description] | join(' ') not in there %}
{%- if table.name in tables_there %}
alter table raw.{{ table.name }} add column if not exists {{ column.name }} {{ column.data_type }};
{%- if not column.constraints %}
alter table raw.{{ table.name }} alter column {{ column.name }} drop not null;
{%- endif %}
{%- endif %}
comment on column raw.{{ table.name }}.{{ column.name }} is '{{ column.description | replace("'", "''") }}';
{%- endfor %}
{% endfor %}
{% endmacro %}
