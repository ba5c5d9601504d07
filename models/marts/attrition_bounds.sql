-- One row per study, domain, llm (null = all) and technique: percent of baseline, and how low or high it would be had
-- every trial that did not answer answered at an end of the valid range (the baseline as it is). LLMs weigh the same,
-- and so do vignettes, as in technique_rankings.
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where not is_quarantined and anchor_direction in ('low', 'high')
),

baselines as (
    select study, vignette, llm, baseline from {{ ref('baselines') }}
    where temperature_scope = 'pooled' and baseline != 0
),

of_llms as (
    select
        trials.study,
        trials.domain,
        trials.vignette,
        trials.llm,
        trials.technique,
        count(*) as n_asked,
        count(*) - count(trials.response) as n_missing,
        100 * avg(trials.response / baselines.baseline) as percent_of_baseline,
        100 * avg(coalesce(trials.response, trials.valid_min) / baselines.baseline) as lower,
        100 * avg(coalesce(trials.response, trials.valid_max) / baselines.baseline) as upper,
        bool_or(trials.response is null and (trials.valid_min is null or trials.valid_max is null)) as is_unbounded
    from trials
    inner join baselines using (study, vignette, llm)
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

of_domains as (
    select
        study,
        domain,
        llm,
        technique,
        sum(n_asked)::bigint as n_asked,
        sum(n_missing)::bigint as n_missing,
        avg(percent_of_baseline) as percent_of_baseline,
        case when not bool_or(is_unbounded) then least(avg(lower), avg(upper)) end as percent_of_baseline_low,
        case when not bool_or(is_unbounded) then greatest(avg(lower), avg(upper)) end as percent_of_baseline_high
    from of_vignettes
    group by all
)

select
    *,
    {{ least_distance('(percent_of_baseline_low - 100)', '(percent_of_baseline_high - 100)') }} as deviation_least,
    greatest(abs(percent_of_baseline_low - 100), abs(percent_of_baseline_high - 100)) as deviation_most,
    {{ reasons([
        ("percent_of_baseline is null", "no_answers"),
        ("percent_of_baseline_low is null", "no_valid_range"),
    ]) }} as reason
from of_domains
