{# No two rows share these columns; nulls count as equal. #}
{% test unique_key(model, columns) %}
select {{ columns | join(', ') }}, count(*) as n_rows
from {{ model }}
group by all
having count(*) > 1
{% endtest %}


{# Every value that is not null lies between the bounds (either may be left out). #}
{% test within(model, column_name, at_least=none, at_most=none) %}
select {{ column_name }}
from {{ model }}
where
    not {{ is_finite(column_name ~ '::double') }}
    {% if at_least is not none %}or {{ column_name }} < {{ at_least }}{% endif %}
    {% if at_most is not none %}or {{ column_name }} > {{ at_most }}{% endif %}
{% endtest %}
