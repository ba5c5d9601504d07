{# Whether a text was published before or after the texts end that an LLM was trained on; the last day itself is before. #}
{% macro knowledge_period(published_at, cutoff) -%}
case
    when {{ cutoff }} is null or {{ published_at }} is null then 'unknown'
    when ({{ published_at }} at time zone 'UTC')::date <= {{ cutoff }} then 'pre'
    else 'post'
end
{%- endmacro %}
