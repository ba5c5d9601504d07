-- What is recommended in the sensitivity is what is decided, and the counts are those of the rows of the headline.
with headlines as (
    select
        study,
        domain,
        technique,
        metric,
        control,
        count(*) filter (where is_recommended) as n_recommended,
        max(n_specifications) as n_specifications,
        max(n_same_decision) as n_same_decision,
        any_value(decision) filter (where is_recommended) as recommended,
        count(*) filter (where decision = recommended_decision) as n_same
    from (
        select
            *,
            any_value(decision) filter (where is_recommended) over (
                partition by study, domain, technique, metric, control
            ) as recommended_decision
        from {{ ref('sensitivity') }}
    )
    group by all
),

decided as (
    select * from {{ ref('rank_probabilities') }}
    where llm is null and control is not null and decision is not null
)

select *
from decided
full join headlines using (study, domain, technique, metric, control)
left join {{ ref('sensitivity') }} as own using (study, domain, technique, metric, control)
where
    (own.is_recommended and (
        own.decision is distinct from decided.decision
        or own.decision_asked is distinct from decided.decision_asked
        or abs(own.gain_low - decided.gain_low) > 1e-9
    ))
    or headlines.n_recommended is distinct from 1
    or headlines.n_same_decision > headlines.n_same
    or headlines.n_same_decision > headlines.n_specifications
