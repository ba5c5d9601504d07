-- Exchanged LLMs have the negative difference and the same p value.
{% set question = ['study', 'paradigm', 'domain', 'goal', 'measure', 'instrument', 'arm', 'arm_b', 'technique'] %}
with contrasts as (
    select * from {{ ref('llm_contrasts') }}
)

select contrasts.*
from contrasts
left join contrasts as exchanged
    on
        contrasts.llm_a = exchanged.llm_b
        and contrasts.llm_b = exchanged.llm_a
        {% for key in question -%}
            and contrasts.{{ key }} is not distinct from exchanged.{{ key }}
        {% endfor %}
where
    exchanged.study is null
    or abs(contrasts.difference + exchanged.difference) > 1e-9
    or abs(contrasts.low + exchanged.high) > 1e-9
    or contrasts.p_holm is distinct from exchanged.p_holm
