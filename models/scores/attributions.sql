-- One row per study, scoring, llm, variation, anchor direction, anchor, field and target: what the field of the prompt
-- adds to the log-probability of the target.
with scores as (
    select * from {{ ref('int_scores_accepted') }}
),

contributed as (
    {% for field in ['scene', 'comparative', 'absolute', 'anchor'] -%}
        select
            study, scoring_set, scoring, llm, variation, question, anchor_regime, anchor_direction, anchor,
            '{{ field }}' as field,
            target,
            banzhaf_{{ field }} as banzhaf,
            shapley_{{ field }} as shapley
        from scores
        {{ 'union all' if not loop.last }}
    {% endfor %}
)

select
    *,
    {{ reasons([('banzhaf is null', 'no_attribution'), ('shapley is null', 'not_recoverable')]) }} as reason
from contributed
