{# Whoever reads a public table relies on its columns: stop before anything is built where they are not declared. #}
{% macro require_contracts() %}
    {% for node in (graph.nodes.values() if execute and target.type != 'spark' else []) %}
        {% set is_public = node.schema in ('marts', 'inference', 'papers', 'people', 'content', 'claims') and node.language == 'sql' %}
        {% if node.resource_type == 'model' and is_public and not (node.config.contract.enforced and node.columns) %}
            {{ exceptions.raise_compiler_error(
                'The public table ' ~ node.schema ~ '.' ~ node.name ~ ' (' ~ node.original_file_path ~ ') has no contract: '
                ~ 'declare its columns as docs/how-to/add-a-metric.md says.'
            ) }}
        {% endif %}
    {% endfor %}
{% endmacro %}
