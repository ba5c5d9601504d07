{# The target `dev` starts from what was landed: copy the raw tables of the warehouse, if there is one; it is only read. #}
{% macro copy_raw() %}
    {% set path = env_var('BAIS_WAREHOUSE', 'data/bais.duckdb') %}
    {% if execute and target.name == 'dev' and run_query("select * from glob('" ~ path ~ "')").rows %}
        {% do run_query("attach '" ~ path ~ "' as landed (read_only)") %}
        {% do run_query('create schema if not exists raw') %}
        {% for table in run_query(
            "select table_name from information_schema.tables where table_catalog = 'landed' and table_schema = 'raw'"
        ).columns[0] %}
            {% do run_query('create or replace table raw.' ~ table ~ ' as from landed.raw.' ~ table) %}
        {% endfor %}
        {% do run_query('detach landed') %}
    {% endif %}
{% endmacro %}
