{# dbt says only how many rows broke a test: print the first of them, so that the table and the column can be seen.
   What only warns is left to dbt. #}
{% materialization test, default %}
    {% set done = dbt.materialization_test_default() %}
    {% if load_result('main').table.rows[0][0] > 0 and config.get('severity', 'error') | lower != 'warn' %}
        {% set table = (model.attached_node or model.name).split('.')[-1] %}
        {% set found = run_query('select * from (' ~ sql ~ ') limit 5') %}
        {% for row in found.rows %}
            {% set said = [] %}
            {% for column, value in row.dict().items() %}
                {% do said.append(column ~ ' = ' ~ value) %}
            {% endfor %}
            {% do print(table ~ ': ' ~ said | join(', ')) %}
        {% endfor %}
        {% set n_found = run_query('select count(*) from (' ~ sql ~ ')').rows[0][0] %}
        {% if n_found > 5 %}
            {% do print(table ~ ': and ' ~ (n_found - 5) ~ ' more') %}
        {% endif %}
    {% endif %}
    {{ return(done) }}
{% endmaterialization %}
