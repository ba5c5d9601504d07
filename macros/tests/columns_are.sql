{# What holds of columns, in one query for each table: a test for each would take many times as long. No two rows share what
   `unique` names together, nulls counting as equal; where that is one column, it is not null. `shares` are within 0 and 1. #}
{% test columns_are(
    model, unique=[], not_null=[], finite=[], shares=[], not_negative=[], within={}, one_of={}, null_only_with_reason=[], reason='reason'
) %}
{{ config(fail_calc='coalesce(sum(n_rows), 0)') }}
{% set rules = [] %}
{% set row = {} %}
{% for column in unique %}
    {% do row.update({column: column}) %}
{% endfor %}
{% set key = unique if unique | length == 1 else [] %}
{% for column in not_null + (key | reject("in", not_null) | list) %}
    {% do rules.append((column, 'is null', column ~ ' is null')) %}
{% endfor %}
{% for column in finite %}
    {% do rules.append((column, 'is no finite number', 'not ' ~ is_finite(column))) %}
{% endfor %}
{% set bounds_of = dict(within) %}
{% for column in shares + not_negative %}
    {% do bounds_of.update({column: {'at_least': 0, 'at_most': 1} if column in shares else {'at_least': 0}}) %}
{% endfor %}
{% for column, bounds in bounds_of.items() %}
    {% set broken = ['not ' ~ is_finite(column)] %}
    {% set said = [] %}
    {% if not bounds or bounds.keys() | reject('in', ('at_least', 'at_most')) | list %}
        {{ exceptions.raise_compiler_error(model ~ ', within, ' ~ column ~ ': give at_least or at_most or both, and nothing else') }}
    {% endif %}
    {% for bound, operator, words in [('at_least', '<', 'below '), ('at_most', '>', 'above ')] if bound in bounds %}
        {% do broken.append([column, operator, bounds[bound]] | join(' ')) %}
        {% do said.append(words ~ bounds[bound]) %}
    {% endfor %}
    {% do rules.append((column, 'is ' ~ said | join(' or ') ~ ' or no finite number', broken | join(' or '))) %}
{% endfor %}
{% for column, values in one_of.items() %}
    {% set texts = [] %}
    {% for value in values %}
        {% do texts.append(dbt.string_literal(dbt.escape_single_quotes(value | string))) %}
    {% endfor %}
    {% do rules.append((column, 'is none of ' ~ values | join(', '), column ~ ' not in (' ~ texts | join(', ') ~ ')')) %}
{% endfor %}
{% for column in null_only_with_reason %}
    {% do rules.append((column, 'is null without a reason', column ~ ' is null and ' ~ reason ~ ' is null')) %}
{% endfor %}
{% if not rules and not unique %}
    {{ exceptions.raise_compiler_error(model ~ ': columns_are says nothing of its columns') }}
{% endif %}
{% set structs = [] %}
{% for column, words, broken in rules %}
    {% do structs.append(struct_of({
        'offence': dbt.string_literal(dbt.escape_single_quotes(column ~ ' ' ~ words)),
        'n_rows': 'count(*) filter (where ' ~ broken ~ ')',
        'example': 'any_value(' ~ struct_of(dict(row, **{column: column})) ~ ') filter (where ' ~ broken ~ ')::string',
    })) %}
{% endfor %}
{% if structs %}
with counted as (
    select {{ rows_of(structs) }}
    from {{ model }}
)

select * from counted
where n_rows > 0
{% endif %}
{% if structs and unique %}union all{% endif %}
{% if unique %}
select
    '{{ unique | join(', ') }} is there more than once' as offence,
    count(*) as n_rows,
    {{ struct_of(row) }}::string as example
from {{ model }}
group by {{ unique | join(', ') }}
having count(*) > 1
{% endif %}
{% endtest %}


{# Whether a number is neither infinite nor none. #}
{% macro is_finite(number) -%}
    (not isnan({{ number }}::double) and abs({{ number }}::double) < 'inf'::double)
{%- endmacro %}
