-- One of the techniques or none comes first, and one last: over LLMs, and in each LLM that is foretold.
{% set keys = question_keys() | join(', ') %}
with places as (
    select {{ keys }}, null as llm, null as vendor, 'first' as place, p_best as p from {{ ref('decisions') }}
    where llm is null

    union all

    select {{ keys }}, null as llm, null as vendor, 'last' as place, p_worst as p from {{ ref('decisions') }}
    where llm is null

    union all

    select {{ keys }}, coalesce(llm, '') as llm, vendor, 'first of an LLM' as place, p_best_new_llm as p
    from {{ ref('predictions') }}
)

select {{ keys }}, llm, vendor, place, sum(p) as p
from places
group by all
having abs(sum(p) - 1) > 1e-9
