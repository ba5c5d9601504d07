{# Makes the tables of `raw` that are not there, and the columns that a warehouse of an older version lacks, as
   models/staging/sources.yml declares them; then writes into the warehouse what they mean. ingest/land/raw.py calls
   `raw_columns_there` and `raw_statements` with the same declarations: meanings take ten times as long as tables. #}
{% macro create_raw_tables() %}
{% if execute and target.type != 'spark' %}
{% set raw = graph.sources.values() | selectattr('source_name', 'equalto', 'raw') | list %}
{% set views = run_query(raw_views_there()).columns[0].values() %}
{% set there = run_query(raw_columns_there()).columns[0].values() %}
{{ raw_statements(raw, there, views) }}
{{ raw_meanings(raw, run_query(raw_meanings_there()).columns[0].values(), views) }}
{{ raw_ordinals(views) }}
{% endif %}
{% endmacro %}


{# Every column, and whether it may be null. #}
{% macro raw_columns_there() %}
select concat_ws(' ', table_name, column_name, if(is_nullable, null, 'not null')) from duckdb_columns()
where database_name = current_database() and schema_name = 'raw'
{% endmacro %}


{# Every table and column with its meaning. #}
{% macro raw_meanings_there() %}
select concat_ws(' ', table_name, column_name, comment) from duckdb_columns()
where database_name = current_database() and schema_name = 'raw'
union all
select concat_ws(' ', table_name, comment) from duckdb_tables()
where database_name = current_database() and schema_name = 'raw'
{% endmacro %}


{# Tables that lie in a folder (ingest/land/folder.py): here they are views. #}
{% macro raw_views_there() %}
select view_name from duckdb_views() where database_name = current_database() and schema_name = 'raw'
{% endmacro %}


{# What makes the tables and columns that are not there; nothing where none is lacking. A column that comes to a table
   later may be null, whatever is declared: the rows that are there have no value for it. #}
{% macro raw_statements(tables, there=(), views=()) %}
{%- set tables_there = [] %}
{%- for column in there %}{% set _ = tables_there.append(column.split(' ')[0]) %}{% endfor %}
{%- if not tables_there %}
create schema if not exists raw;
{%- endif %}
{%- for table in tables if table.name not in views %}
{%- if table.name not in tables_there %}
create table if not exists raw.{{ table.name }} (
    {%- for column in table.columns.values() %}
    {{ column.name }} {{ column.data_type }}{{ ' not null' if column.constraints }}{{ ',' if not loop.last }}
    {%- endfor %}
);
{%- else %}
{%- for column in table.columns.values() %}
{%- set place = table.name ~ ' ' ~ column.name %}
{%- if place ~ ' not null' in there and not column.constraints %}
alter table raw.{{ table.name }} alter column {{ column.name }} drop not null;
{%- elif place not in there and place ~ ' not null' not in there %}
alter table raw.{{ table.name }} add column {{ column.name }} {{ column.data_type }};
{%- endif %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{% endmacro %}


{# What writes the meanings into the warehouse that it does not have; views of a folder are made with theirs. #}
{% macro raw_meanings(tables, there, views=()) %}
{% for table in tables if table.name not in views %}
{%- set meaning = table.description | trim %}
{%- if table.name ~ ' ' ~ meaning not in there %}
comment on table raw.{{ table.name }} is '{{ meaning | replace("'", "''") }}';
{%- endif %}
{%- for column in table.columns.values() if [table.name, column.name, column.description] | join(' ') not in there %}
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
    'falsifications': 'stated_at', 'falsification_verdicts': 'stated_at', 'families': 'frozen_at',
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
