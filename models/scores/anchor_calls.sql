-- One row per study, evidence, set of scorings, llm and variation, and one over all variations of an LLM and over all
-- LLMs (null): under how many specifications the direction of the shift is the published one, with p < .05.
with called as (
    select
        *,
        max(case when specification = 'published' then call_behaviour end)
            over (partition by study, scoring, variation) as published_call,
        contains(stars_behaviour, '**') and call_behaviour = published_call and call_behaviour != 'B0' as stands
    from {{ ref('anchor_effects') }}
    -- these test behaviour as `published`, `normalised` and `recommended` do, and would count them twice
    where specification not in ('shapley', 'normalised_t', 'normalised_blocks_of_ten')
),

judged as (
    select
        study,
        evidence_from,
        scoring_set,
        llm,
        variation,
        any_value(published_call) as call_behaviour,
        count(stars_behaviour) as n_specifications,
        count(*) filter (where stands) as n_standing,
        case when n_specifications = 0 then any_value(reason) end as reason
    from called
    group by all
),

counted as (
    select
        study,
        evidence_from,
        scoring_set,
        llm,
        variation,
        case when grouping(variation) = 0 then any_value(call_behaviour) end as call_behaviour,
        count(*)::bigint as n_calls,
        sum(n_specifications)::bigint as n_specifications,
        sum(n_standing)::bigint as n_standing,
        count(*) filter (where n_specifications > 0 and n_standing = n_specifications) as n_standing_always,
        count(*) filter (where n_specifications > 0 and n_standing = 0) as n_standing_never,
        any_value(reason) as any_reason
    from judged
    group by
        grouping sets (
            (study, evidence_from, scoring_set, llm, variation),
            (study, evidence_from, scoring_set, llm),
            (study, evidence_from)
        )
)

select
    * exclude (any_reason),
    n_standing / nullif(n_specifications, 0) as share,
    case when n_specifications = 0 then any_reason end as reason
from counted
