-- What is recommended in the multiverse is what is decided, once for each decision; the counts are those of its rows.
{% set keys = question_keys() + ['technique', 'control'] %}
with rows_counted as (
    select
        *,
        any_value(decision) filter (where is_recommended) over (partition by {{ keys | join(', ') }}) as recommended
    from {{ ref('multiverse') }}
),

headlines as (
    select
        {{ keys | join(', ') }},
        count(*) filter (where is_recommended) as n_recommended,
        any_value(recommended) as recommended,
        any_value(decision_asked) filter (where is_recommended) as recommended_asked,
        any_value(gain_low) filter (where is_recommended) as recommended_low,
        any_value(n_llms) filter (where is_recommended) as recommended_llms,
        max(n_specifications) as n_specifications,
        max(n_same_decision) as n_same_decision,
        count(*) filter (where decision = recommended) as n_same
    from rows_counted
    group by all
),

decided as (
    select * from {{ ref('decisions') }}
    where llm is null and control is not null and decision is not null
)

select *
from decided
full join headlines on {{ same_in('decided', 'headlines', keys) }}
where
    headlines.recommended is distinct from decided.decision
    or headlines.recommended_asked is distinct from decided.decision_asked
    or headlines.recommended_llms is distinct from decided.n_llms
    or abs(coalesce(headlines.recommended_low, 0) - coalesce(decided.gain_low, 0)) > 1e-9
    or headlines.n_recommended is distinct from 1
    or headlines.n_same_decision > headlines.n_same
    or headlines.n_same_decision > headlines.n_specifications
