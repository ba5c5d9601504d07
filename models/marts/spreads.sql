-- One row per study, llm, vignette and technique: high anchor less low anchor, all temperatures pooled.
with conditions as (
    select * from {{ ref('anchored_conditions') }}
    where temperature_scope = 'pooled'
),

paired as (
    select
        study,
        llm,
        domain,
        vignette,
        technique,
        sum(n_trials)::bigint as n_trials,
        any_value(mean_response) filter (where anchor_direction = 'high')
        - any_value(mean_response) filter (where anchor_direction = 'low') as spread,
        any_value(percent_of_baseline) filter (where anchor_direction = 'high')
        - any_value(percent_of_baseline) filter (where anchor_direction = 'low') as spread_pp,
        count(*) filter (where anchor_direction = 'low') = 0 as lacks_low,
        count(*) filter (where anchor_direction = 'high') = 0 as lacks_high
    from conditions
    group by all
),

compared as (
    select
        *,
        abs(spread) as susceptibility,
        any_value(spread_pp) filter (where technique = 'no_technique') over (partition by study, llm, vignette)
            as spread_pp_no_technique
    from paired
)

select
    * exclude (lacks_low, lacks_high, spread_pp_no_technique),
    {{ spread_change_percent('spread_pp', 'spread_pp_no_technique') }} as spread_change_percent,
    {{ reasons([
        ("lacks_low", "no_low_anchor"),
        ("lacks_high", "no_high_anchor"),
        ("spread is not null and spread_pp is null", "no_baseline"),
        ("spread_pp is not null and spread_pp_no_technique is null", "no_technique_not_asked"),
        ("abs(spread_pp_no_technique) < 1", "no_spread_to_change"),
    ]) }} as reason
from compared
