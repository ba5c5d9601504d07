-- For weighting `trial`, both directions together are the mean of low and high, weighted by their trials.
with directions as (
    select
        study,
        vignette,
        technique,
        llm,
        temperature_scope,
        row_set,
        baseline_scope,
        max(percent_of_baseline) filter (where anchor_direction = 'both') as percent_of_both,
        sum(n_trials) filter (where anchor_direction = 'both') as n_both,
        sum(n_trials) filter (where anchor_direction != 'both') as n_low_and_high,
        sum(n_trials * percent_of_baseline) filter (where anchor_direction != 'both') as sum_of_low_and_high
    from {{ ref('technique_effects') }}
    where weighting = 'trial'
    group by all
)

select *
from directions
where
    n_both is distinct from n_low_and_high
    or not coalesce(abs(percent_of_both - sum_of_low_and_high / n_low_and_high) < 1e-9, n_both = 0)
