{# What an earlier version made and no model or seed makes any more is dropped, with what it kept beside it: by the record
   of earlier runs (`record_run`), so that nothing goes that somebody else made. The first versions kept no such record:
   of theirs goes what says of itself what a row is, as all public tables of bais do. #}
{% macro drop_what_no_model_makes() %}
{% if execute and target.type != 'spark' and flags.WHICH in ('build', 'run', 'seed') %}
{% set made, aliases = [], [] %}
{% for node in graph.nodes.values() if node.resource_type in ('model', 'seed') %}
    {% do made.append("'" ~ node.schema ~ '.' ~ node.alias ~ "'") %}
    {% do aliases.append("'" ~ node.alias ~ "'") %}
{% endfor %}
{% set query %}
with earlier as (
    {% if adapter.get_relation(target.database, 'intermediate', 'nodes') %}
    select relation from intermediate.nodes
    where kind not in ('test', 'source')
    {% else %}
    select table_schema || '.' || table_name as relation from information_schema.tables
    where
        table_catalog = current_database()
        and table_schema in ('intermediate', 'marts', 'inference')
        and starts_with(table_comment, 'One row per ')
    {% endif %}
),

gone as (
    select
        relation,
        case when split_part(relation, '.', 2) not in ({{ aliases | join(', ') }})
            then 'intermediate.kept_' || split_part(relation, '.', 2)
        end as kept
    from earlier
    where relation not in ({{ made | join(', ') }})
)

select distinct
    case table_type when 'VIEW' then 'view ' else 'table ' end || table_schema || '."' || table_name || '"' as relation
from information_schema.tables
inner join gone on table_schema || '.' || table_name in (gone.relation, gone.kept)
where table_catalog = current_database()
order by relation
{% endset %}
{% for relation in run_query(query).columns[0] %}
drop {{ relation }};
{% endfor %}
{% endif %}
{% endmacro %}
