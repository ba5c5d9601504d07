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

references_ as (
    select study, llm, vignette, spread_pp as spread_pp_no_technique from paired
    where technique = 'no_technique'
),

compared as (
    select
        paired.*,
        abs(paired.spread) as susceptibility,
        references_.spread_pp_no_technique,
        {{ spread_change_percent('paired.spread_pp', 'references_.spread_pp_no_technique') }} as spread_change_percent
    from paired
    left join references_ using (study, llm, vignette)
)

select
    study,
    llm,
    domain,
    vignette,
    technique,
    n_trials,
    spread,
    spread_pp,
    susceptibility,
    spread_change_percent,
    {{ reasons([
        ("lacks_low", "no_low_anchor"),
        ("lacks_high", "no_high_anchor"),
        ("spread is not null and spread_pp is null", "no_baseline"),
        ("spread_pp is not null and spread_pp_no_technique is null", "no_technique_not_asked"),
        ("abs(spread_pp_no_technique) < 1", "no_spread_to_change"),
    ]) }} as reason
from compared
