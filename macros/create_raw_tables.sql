{# Makes the tables of `raw` that are not there, and the columns that a warehouse of an older version lacks, as
   models/staging/sources.yml declares them. ingest/raw.py calls the macros below with the same declarations. #}
{% macro create_raw_tables() %}
{% if execute and target.type != 'spark' %}
{% set raw = graph.sources.values() | selectattr('source_name', 'equalto', 'raw') %}
{% set views = run_query(raw_views_there()).columns[0].values() %}
{{ raw_statements(raw, run_query(raw_columns_there()).columns[0].values(), views) }}
{{ raw_ordinals(views) }}
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


{# Numbers the rows that have no `ordinal`, since an older version of bais wrote them: they follow what has one, in the
   order in which the clock had them until then. #}
{% macro raw_ordinals(views=(), schema='raw') %}
{%- set times = {
    'source_versions': 'imported_at', 'batches': 'loaded_at', 'batch_verdicts': 'checked_at',
    'flagged_trials': 'flagged_at', 'gate_acts': 'acted_at', 'paradigms': 'stated_at',
    'paradigm_contrasts': 'stated_at', 'items': 'stated_at', 'measurements': 'measured_at',
    'quarantined_lines': 'quarantined_at', 'news': 'fetched_at', 'news_fetches': 'fetched_at',
    'falsifications': 'stated_at', 'falsification_verdicts': 'stated_at',
} %}
{%- set tables = times.items() | rejectattr(0, 'in', views) | list %}
create or replace temp table moments as
with numbered as (
    {%- for table, time in tables %}
    select ordinal, {{ time }} as moment from {{ schema }}.{{ table }}{{ ' union all' if not loop.last }}
    {%- endfor %}
)

select moment, coalesce((select max(ordinal) from numbered), 0) + dense_rank() over (order by moment nulls first) as ordinal
from (select distinct moment from numbered where ordinal is null);
{% for table, time in tables %}
update {{ schema }}.{{ table }} as unnumbered set ordinal = moments.ordinal from moments
where unnumbered.ordinal is null and unnumbered.{{ time }} is not distinct from moments.moment;
{% endfor %}
drop table moments;
{% endmacro %}
