-- noqa: disable=LT02
-- One row per study, domain, llm (null = all) and technique: percent of baseline and displacement, and how low or
-- high they would be had every trial that did not answer answered at an end of the valid range (the baseline as it is).
-- LLMs weigh the same, and so do vignettes, as in technique_rankings.
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where not is_quarantined and anchor_direction in ('low', 'high')
),

baselines as (
    select study, vignette, llm, baseline from {{ ref('baselines') }}
    where temperature_scope = 'pooled' and baseline != 0
),

of_directions as (
    select
        trials.study,
        trials.domain,
        trials.vignette,
        trials.llm,
        trials.technique,
        trials.anchor_direction,
        count(*) as n_asked,
        count(trials.response) as n_answered,
        100 * sum(trials.response / baselines.baseline) as answered,
        100 * sum(coalesce(trials.response, trials.valid_min) / baselines.baseline) as lower,
        100 * sum(coalesce(trials.response, trials.valid_max) / baselines.baseline) as upper,
        bool_or(trials.response is null and (trials.valid_min is null or trials.valid_max is null)) as is_unbounded
    from trials
    inner join baselines using (study, vignette, llm)
    group by all
),

of_llms as (
    select
        study,
        domain,
        vignette,
        llm,
        technique,
        sum(n_asked) as n_asked,
        sum(n_asked - n_answered) as n_missing,
        sum(answered) / nullif(sum(n_answered), 0) as percent_of_baseline,
        sum(lower) / sum(n_asked) as lower,
        sum(upper) / sum(n_asked) as upper,
        bool_or(is_unbounded) as is_unbounded,
        case
            when count(*) = 2
                then avg({{ least_distance('(lower / n_asked - 100)', '(upper / n_asked - 100)') }})
        end as displacement_least,
        case
            when count(*) = 2 then avg(greatest(abs(lower / n_asked - 100), abs(upper / n_asked - 100)))
        end as displacement_most
    from of_directions
    group by all
),

of_vignettes as (
    select
        study,
        domain,
        vignette,
        llm,
        technique,
        sum(n_asked) as n_asked,
        sum(n_missing) as n_missing,
        avg(percent_of_baseline) as percent_of_baseline,
        avg(lower) as lower,
        avg(upper) as upper,
        bool_or(is_unbounded) as is_unbounded
    from of_llms
    group by grouping sets ((study, domain, vignette, llm, technique), (study, domain, vignette, technique))
),

displaced as (
    select
        study,
        domain,
        llm,
        technique,
        avg(displacement_least) as displacement_least,
        avg(displacement_most) as displacement_most
    from of_llms
    group by all
),

-- means over vignettes, then over LLMs, as in losses
displacements as (
    select
        study,
        domain,
        llm,
        technique,
        avg(displacement_least) as displacement_least,
        avg(displacement_most) as displacement_most
    from displaced
    group by grouping sets ((study, domain, llm, technique), (study, domain, technique))
),

of_domains as (
    select
        study,
        domain,
        llm,
        technique,
        sum(n_asked)::bigint as n_asked,
        sum(n_missing)::bigint as n_missing,
        avg(percent_of_baseline) as percent_of_baseline,
        bool_or(is_unbounded) as is_unbounded,
        least(avg(lower), avg(upper)) as percent_of_baseline_low,
        greatest(avg(lower), avg(upper)) as percent_of_baseline_high
    from of_vignettes
    group by all
)

select
    of_domains.study,
    of_domains.domain,
    of_domains.llm,
    of_domains.technique,
    n_asked,
    n_missing,
    percent_of_baseline,
    {% for bound in [
        'percent_of_baseline_low', 'percent_of_baseline_high', 'displacement_least', 'displacement_most',
    ] -%}
        case when not is_unbounded then {{ bound }} end as {{ bound }},
    {% endfor -%}
    {{ reasons([
        ("percent_of_baseline is null", "no_answers"),
        ("is_unbounded", "no_valid_range"),
        ("displacements.displacement_least is null", "missing_direction"),
    ]) }} as reason
from of_domains
left join displacements
    on
        of_domains.study = displacements.study
        and of_domains.domain = displacements.domain
        and of_domains.llm is not distinct from displacements.llm
        and of_domains.technique = displacements.technique
