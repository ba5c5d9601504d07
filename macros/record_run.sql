{# What a run of dbt made in this file, by its own results: each node, what it is made of, and the numbers of the last
   run that made it and of the last that found or left it otherwise. Runs are counted, so that no clock decides which of
   two tables is the older one. bais/age.py reads this. A seed that is loaded again as it was has not changed. #}
{% macro record_run(results) %}
{% if execute and target.type != 'spark' and flags.WHICH in ('build', 'run', 'seed') %}
{% set made = [] %}
{% for result in results if result.status | string in ('success', 'pass', 'warn') %}
    {% do made.append(result.node.unique_id) %}
{% endfor %}
{% set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ('model', 'seed', 'test')) | list %}
create table if not exists intermediate.nodes (
    node varchar, kind varchar, relation varchar, inputs varchar[], content varchar, made_in bigint, changed_in bigint
);
create or replace table intermediate.nodes as
with found as (
    {% for source in graph.sources.values() | selectattr('source_name', 'equalto', 'raw') %}
    select
        '{{ source.unique_id }}' as node, 'source' as kind, '{{ source.schema }}.{{ source.identifier }}' as relation,
        []::varchar[] as inputs, count(*)::varchar as content, true as is_made
    from {{ source.schema }}.{{ source.identifier }}
    union all
    {% endfor %}
    from (
        values
        {% for node in nodes %}
        (
            '{{ node.unique_id }}',
            '{{ node.config.materialized if node.resource_type == "model" else node.resource_type }}',
            '{{ node.schema }}.{{ node.alias }}',
            {{ node.depends_on.nodes | list if node.resource_type == 'model' else '[]' }}::varchar[],
            {{ "'" ~ node.checksum.checksum ~ "'" if node.resource_type == 'seed' and node.checksum.name == 'sha256' else 'null' }},
            {{ node.unique_id in made }}
        ){{ ',' if not loop.last }}
        {% endfor %}
    )
),

earlier as (
    select node, content, made_in, changed_in from intermediate.nodes
),

this as (
    select coalesce(max(made_in), 0) + 1 as run from earlier
)

select
    found.node,
    found.kind,
    found.relation,
    found.inputs,
    case when found.is_made then found.content else earlier.content end as content,
    case when found.is_made then this.run else earlier.made_in end as made_in,
    case
        when found.is_made and (found.content is null or found.content is distinct from earlier.content) then this.run
        else earlier.changed_in
    end as changed_in
from found
cross join this
left join earlier using (node)
{% endif %}
{% endmacro %}
