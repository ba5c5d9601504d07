-- One row per condition that a source publishes as counts, and instrument: the sums of its values as marts.counts has
-- them. Runs of one cluster, such as one text that was put several times, are no independent ones: with a design effect
-- as many count as come to the same variance. Where it is not known there are two instruments, of which one takes each
-- run for independent and one each cluster for a single run.
with conditions as (
    select
        study,
        archive,
        paradigm,
        measure,
        llm,
        vignette,
        item,
        technique,
        arm,
        any_value(design_effect) as design_effect,
        any_value(n_clusters) as n_clusters,
        sum(n) as n_runs,
        sum(n * value) / n_runs as mean,
        sum(n * value * value) / n_runs as mean_of_squares
    from {{ ref('stg_counts') }}
    group by all
),

effects as (
    select *, design_effect as effect, null as instrument from conditions
    where design_effect is not null
    union all
    select *, 1 as effect, 'design_effect_1' as instrument from conditions
    where design_effect is null
    union all
    select
        *,
        n_runs / n_clusters as effect,
        'design_effect_' || ceil(max(effect) over (partition by study, archive))::bigint as instrument
    from conditions
    where design_effect is null and n_clusters is not null
    qualify instrument != 'design_effect_1'  -- as many clusters as runs
)

select
    study,
    paradigm,
    measure,
    instrument,
    llm,
    vignette,
    item,
    technique,
    arm,
    null::double as anchor_value,
    null::double as temperature,
    'accepted' as row_set,
    null::varchar as response_source,
    null::double as value,
    null::varchar as relative_to,
    paradigm as domain,
    null::double as valid_min,
    null::double as valid_max,
    round(n_runs / effect)::bigint as n_asked,
    n_asked as n_trials,
    mean * n_trials as sum_of_values,
    mean_of_squares * n_trials as sum_of_squares
from effects
