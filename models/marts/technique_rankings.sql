-- One row per study, domain, llm (null = all) and technique: LLMs weigh the same, and so do vignettes.
with effects as (
    select * from {{ ref('technique_effects') }}
    where row_set = 'accepted' and baseline_scope = 'pooled' and temperature_scope = 'pooled' and weighting = 'llm'
),

techniques as (
    select technique, is_ranked from {{ ref('techniques') }}
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

no_technique as (
    select study, domain, llm, spread_pp as spread_pp_no_technique from domains
    where technique = 'no_technique'
),

compared as (
    select
        domains.*,
        no_technique.spread_pp_no_technique,
        {{ spread_change_percent('domains.spread_pp', 'no_technique.spread_pp_no_technique') }}
            as spread_change_percent,
        coalesce(techniques.is_ranked, false) as is_ranked
    from domains
    left join techniques using (technique)
    left join no_technique
        on
            domains.study = no_technique.study
            and domains.domain = no_technique.domain
            and domains.llm is not distinct from no_technique.llm
),

ranked as (
    select
        *,
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
            (bounds.n_missing > 0 or others.n_missing > 0)
            and coalesce(bounds.deviation_most >= others.deviation_least, true)
        ) as not_identified
    from ranked as better
    inner join ranked as worse
        on
            better.study = worse.study
            and better.domain = worse.domain
            and better.llm is not distinct from worse.llm
            and better.rank_by_deviation < worse.rank_by_deviation
    inner join bounds
        on
            better.study = bounds.study
            and better.domain = bounds.domain
            and better.llm is not distinct from bounds.llm
            and better.technique = bounds.technique
    inner join bounds as others
        on
            worse.study = others.study
            and worse.domain = others.domain
            and worse.llm is not distinct from others.llm
            and worse.technique = others.technique
    group by all
),

winners as (
    select
        study,
        domain,
        llm,
        list(technique) filter (where rank_by_deviation = 1) as by_deviation,
        list(technique) filter (where rank_by_susceptibility = 1) as by_susceptibility
    from ranked
    group by all
)

select
    ranked.study,
    ranked.domain,
    ranked.llm,
    ranked.technique,
    ranked.n_trials,
    ranked.n_llms,
    ranked.percent_of_baseline,
    ranked.deviation_pp,
    ranked.spread_pp,
    ranked.spread_change_percent,
    ranked.madb_percent,
    ranked.rank_by_deviation,
    ranked.rank_by_susceptibility,
    ranked.rank_by_madb,
    ranked.rank_by_deviation_with_no_technique,
    not list_has_any(winners.by_deviation, winners.by_susceptibility) as metrics_disagree,
    coalesce(overlapping.not_identified, false) as not_identified,
    {{ reasons([
        ("ranked.percent_of_baseline is null", "no_baseline"),
        ("ranked.percent_of_baseline is not null and ranked.spread_pp is null", "no_low_or_no_high_anchor"),
        ("ranked.spread_pp is not null and ranked.spread_pp_no_technique is null", "no_technique_not_asked"),
        ("abs(ranked.spread_pp_no_technique) < 1", "no_spread_to_change"),
        ("not ranked.is_ranked", "not_ranked"),
        ("winners.by_deviation is null or winners.by_susceptibility is null", "nothing_to_rank"),
    ]) }} as reason
from ranked
inner join winners
    on
        ranked.study = winners.study
        and ranked.domain = winners.domain
        and ranked.llm is not distinct from winners.llm
left join overlapping
    on
        ranked.study = overlapping.study
        and ranked.domain = overlapping.domain
        and ranked.llm is not distinct from overlapping.llm
