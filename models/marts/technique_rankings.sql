-- One row per study, domain, llm (null = all) and technique: LLMs weigh the same, and so do vignettes.
with effects as (
    select * from {{ ref('technique_effects') }}
    where row_set = 'accepted' and baseline_scope = 'pooled' and temperature_scope = 'pooled' and weighting = 'llm'
),

techniques as (
    select technique, is_ranked, not_ranked_because from {{ ref('int_techniques_defined') }}
),

bounds as (
    select study, domain, llm, technique, deviation_least, deviation_most, n_missing
    from {{ ref('attrition_bounds') }}
),

vignettes_paired as (
    select
        study,
        domain,
        vignette,
        llm,
        technique,
        any_value(n_trials) filter (where anchor_direction = 'both') as n_trials,
        any_value(n_llms) filter (where anchor_direction = 'both') as n_llms,
        any_value(percent_of_baseline) filter (where anchor_direction = 'both') as percent_of_baseline,
        any_value(madb_percent) filter (where anchor_direction = 'both') as madb_percent,
        any_value(percent_of_baseline) filter (where anchor_direction = 'high')
        - any_value(percent_of_baseline) filter (where anchor_direction = 'low') as spread_pp
    from effects
    group by all
),

domains as (
    select
        study,
        domain,
        llm,
        technique,
        sum(n_trials)::bigint as n_trials,
        max(n_llms)::bigint as n_llms,
        avg(percent_of_baseline) as percent_of_baseline,
        avg(percent_of_baseline) - 100 as deviation_pp,
        avg(spread_pp) as spread_pp,
        avg(madb_percent) as madb_percent
    from vignettes_paired
    group by all
),

compared as (
    select
        domains.*,
        any_value(spread_pp) filter (where technique = 'no_technique') over one_llm as spread_pp_no_technique,
        coalesce(techniques.is_ranked, false) as is_ranked,
        case
            when techniques.is_ranked is null then 'not in seeds/techniques.csv' else techniques.not_ranked_because
        end as not_ranked_because,
        deviation_least,
        deviation_most,
        n_missing
    from domains
    left join techniques using (technique)
    left join bounds
        on
            domains.study = bounds.study
            and domains.domain = bounds.domain
            and domains.llm is not distinct from bounds.llm
            and domains.technique = bounds.technique
    window one_llm as (partition by domains.study, domains.domain, domains.llm)
),

ranked as (
    select
        *,
        {{ spread_change_percent('spread_pp', 'spread_pp_no_technique') }} as spread_change_percent,
        {{ rank_among('deviation_pp', 'is_ranked') }} as rank_by_deviation,
        {{ rank_among('spread_pp', 'is_ranked') }} as rank_by_susceptibility,
        {{ rank_among('madb_percent', 'is_ranked') }} as rank_by_madb,
        {{ rank_among('deviation_pp', "(is_ranked or technique = 'no_technique')") }}
            as rank_by_deviation_with_no_technique
    from compared
),

-- The order by deviation could be another one, had everybody answered: the bounds of two ranked techniques overlap.
overlapping as (
    select
        better.study,
        better.domain,
        better.llm,
        bool_or(
            (better.n_missing > 0 or worse.n_missing > 0)
            and coalesce(better.deviation_most >= worse.deviation_least, true)
        ) as not_identified
    from ranked as better
    inner join ranked as worse
        on
            better.study = worse.study
            and better.domain = worse.domain
            and better.llm is not distinct from worse.llm
            and better.rank_by_deviation < worse.rank_by_deviation
    group by all
),

with_winners as (
    select
        *,
        list(technique) filter (where rank_by_deviation = 1) over one_llm as best_by_deviation,
        list(technique) filter (where rank_by_susceptibility = 1) over one_llm as best_by_susceptibility
    from ranked
    window one_llm as (partition by study, domain, llm)
)

select
    ranked.* exclude (
        is_ranked, n_missing, deviation_least, deviation_most, spread_pp_no_technique, best_by_deviation,
        best_by_susceptibility, not_ranked_because
    ),
    not list_has_any(best_by_deviation, best_by_susceptibility) as metrics_disagree,
    coalesce(not_identified, false) as not_identified,
    {{ reasons([
        ("percent_of_baseline is null", "no_baseline"),
        ("percent_of_baseline is not null and spread_pp is null", "no_low_or_no_high_anchor"),
        ("spread_pp is not null and spread_pp_no_technique is null", "no_technique_not_asked"),
        ("abs(spread_pp_no_technique) < 1", "no_spread_to_change"),
        ("not is_ranked", "not_ranked"),
        ("best_by_deviation is null or best_by_susceptibility is null", "nothing_to_rank"),
    ]) }} as reason,
    not_ranked_because
from with_winners as ranked
left join overlapping
    on
        ranked.study = overlapping.study
        and ranked.domain = overlapping.domain
        and ranked.llm is not distinct from overlapping.llm
