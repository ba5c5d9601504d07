-- noqa: disable=LT02
-- One row per study, domain, llm (null = all) and technique: LLMs weigh the same, and so do vignettes. Ranks go by the
-- losses of the three goals, on the LLMs and vignettes that all ranked techniques have; those by the papers' metrics
-- (`net_deviation`, `net_spread`, MADB) are there for the ledger of claims alone.
{% set goals = ['displacement', 'gap', 'error'] %}
with effects as (
    select * from {{ ref('technique_effects') }}
    where row_set = 'accepted' and baseline_scope = 'pooled' and temperature_scope = 'pooled' and weighting = 'llm'
),

techniques as (
    select technique, is_ranked, not_ranked_because from {{ ref('int_techniques_defined') }}
),

bounds as (
    select study, domain, llm, technique, displacement_least, displacement_most, n_missing
    from {{ ref('attrition_bounds') }}
),

losses as (
    select
        of_goals.study,
        of_goals.domain,
        of_goals.vignette,
        of_goals.llm as of_llm,
        of_goals.technique,
        coalesce(techniques.is_ranked, false) as is_ranked,
        coalesce(techniques.is_ranked, false) or of_goals.technique = 'no_technique' as is_compared,
        any_value(loss_unanchored) as error_unanchored,
        {% for goal in goals -%}
            any_value(loss) filter (where metric = '{{ goal }}') as {{ goal }}{{ ',' if not loop.last }}
        {% endfor %}
    from {{ ref('losses') }} as of_goals
    left join techniques using (technique)
    where loss is not null
    group by all
),

by_llm as (
    select *, unnest([of_llm, null]) as llm from losses
),

-- whether an LLM and vignette has every ranked technique, and whether it has no technique too
shared as (
    select
        *,
        {% for name, condition in [('', 'is_ranked'), ('_with_no_technique', 'is_compared')] -%}
            count(*) filter (where {{ condition }}) over cell
            = count(distinct technique) filter (where {{ condition }}) over one_llm as is_shared{{ name }}
            {{- ',' if not loop.last }}
        {% endfor %}
    from by_llm
    window
        one_llm as (partition by study, domain, llm),
        cell as (partition by study, domain, llm, of_llm, vignette)
),

llm_losses as (
    select
        study,
        domain,
        llm,
        of_llm,
        technique,
        avg(error_unanchored) as error_unanchored,
        {% for goal in goals -%}
            avg({{ goal }}) as {{ goal }},
            avg({{ goal }}) filter (where is_shared) as shared_{{ goal }},
        {% endfor -%}
        avg(displacement) filter (where is_shared_with_no_technique) as shared_displacement_with_no_technique,
        bool_or(is_compared and not is_shared_with_no_technique) as lacks_others
    from shared
    group by all
),

mean_losses as (
    select
        study,
        domain,
        llm,
        technique,
        avg(columns('error_unanchored|displacement|gap|error')),
        bool_or(lacks_others) as lacks_others
    from llm_losses
    group by all
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
        - any_value(percent_of_baseline) filter (where anchor_direction = 'low') as net_spread
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
        avg(percent_of_baseline) - 100 as net_deviation,
        avg(net_spread) as net_spread,
        avg(madb_percent) as madb_percent
    from vignettes_paired
    group by all
),

compared as (
    select
        domains.*,
        means.* exclude (study, domain, llm, technique, lacks_others),
        any_value(net_spread) filter (where domains.technique = 'no_technique') over one_llm as net_spread_no_technique,
        bool_or(lacks_others) over one_llm as has_llms_that_differ,
        coalesce(techniques.is_ranked, false) as is_ranked,
        coalesce(techniques.is_ranked, false) or domains.technique = 'no_technique' as is_compared,
        case
            when techniques.is_ranked is null then 'not in seeds/techniques.csv' else techniques.not_ranked_because
        end as not_ranked_because,
        displacement_least,
        displacement_most,
        n_missing
    from domains
    left join techniques using (technique)
    {% for part in ['mean_losses as means', 'bounds'] -%}
    {% set name = part.split(' ')[-1] -%}
    left join {{ part }}
        on
            domains.study = {{ name }}.study
            and domains.domain = {{ name }}.domain
            and domains.llm is not distinct from {{ name }}.llm
            and domains.technique = {{ name }}.technique
    {% endfor -%}
    window one_llm as (partition by domains.study, domains.domain, domains.llm)
),

ranked as (
    select
        *,
        {% for goal in goals -%}
            {{ rank_among('shared_' ~ goal, 'is_ranked') }} as rank_by_{{ goal }},
        {% endfor -%}
        {{ rank_among('shared_displacement_with_no_technique', 'is_compared') }}
            as rank_by_displacement_with_no_technique,
        {{ spread_change_percent('net_spread', 'net_spread_no_technique') }} as spread_change_percent,
        {{ rank_among('net_deviation', 'is_ranked') }} as rank_by_net_deviation,
        {{ rank_among('net_spread', 'is_ranked') }} as rank_by_net_spread,
        {{ rank_among('madb_percent', 'is_ranked') }} as rank_by_madb,
        {{ rank_among('net_deviation', 'is_compared') }} as rank_by_net_deviation_with_no_technique
    from compared
),

-- The order by displacement could be another one, had everybody answered: the bounds of two ranked techniques overlap.
overlapping as (
    select
        better.study,
        better.domain,
        better.llm,
        bool_or(
            (better.n_missing > 0 or worse.n_missing > 0)
            and coalesce(better.displacement_most >= worse.displacement_least, true)
        ) as not_identified
    from ranked as better
    inner join ranked as worse
        on
            better.study = worse.study
            and better.domain = worse.domain
            and better.llm is not distinct from worse.llm
            and better.rank_by_displacement < worse.rank_by_displacement
    group by all
),

with_winners as (
    select
        *,
        list(technique) filter (where rank_by_displacement = 1) over one_llm as best_by_displacement,
        list(technique) filter (where rank_by_gap = 1) over one_llm as best_by_gap
    from ranked
    window one_llm as (partition by study, domain, llm)
)

select
    ranked.study,
    ranked.domain,
    ranked.llm,
    technique,
    n_trials,
    n_llms,
    displacement,
    gap,
    error,
    error_unanchored,
    rank_by_displacement,
    rank_by_gap,
    rank_by_error,
    rank_by_displacement_with_no_technique,
    not list_has_any(best_by_displacement, best_by_gap) as metrics_disagree,
    percent_of_baseline,
    net_deviation,
    net_spread,
    spread_change_percent,
    madb_percent,
    rank_by_net_deviation,
    rank_by_net_spread,
    rank_by_madb,
    rank_by_net_deviation_with_no_technique,
    coalesce(not_identified, false) as not_identified,
    {{ reasons([
        ("percent_of_baseline is null", "no_baseline"),
        ("percent_of_baseline is not null and (displacement is null or net_spread is null)", "missing_direction"),
        ("net_spread is not null and net_spread_no_technique is null", "no_technique_not_asked"),
        ("abs(net_spread_no_technique) < 1", "no_spread_to_change"),
        ("not is_ranked", "not_ranked"),
        ("is_compared and has_llms_that_differ", "llms_differ"),
        ("best_by_displacement is null or best_by_gap is null", "nothing_to_rank"),
    ]) }} as reason,
    not_ranked_because
from with_winners as ranked
left join overlapping
    on
        ranked.study = overlapping.study
        and ranked.domain = overlapping.domain
        and ranked.llm is not distinct from overlapping.llm
