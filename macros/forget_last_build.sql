{# What `bais build` records of a build that passed wholly (bais/unchanged.py) ends with the next one, whatever it builds. #}
{% macro forget_last_build() %}
{% if target.type != 'spark' %}
create schema if not exists intermediate;
drop table if exists intermediate.last_build
{% endif %}
{% endmacro %}


{# `--full-refresh` computes the rows of every study anew: analysis/kept.py keeps none without these tables. #}
{% macro forget_kept_rows() %}
{% if execute and flags.FULL_REFRESH and target.type != 'spark' %}
{% for table in run_query(
    "select schema_name || '.' || table_name from duckdb_tables() "
    ~ "where database_name = current_database() and schema_name = 'intermediate' and starts_with(table_name, 'kept_')"
).columns[0] %}
drop table {{ table }};
{% endfor %}
{% endif %}
{% endmacro %}
