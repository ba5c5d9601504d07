-- One row per audited cell whose mean differs from its earlier published answers by more than chance and a share of it.
with settings as (
    select fewest, drift_z, drift_share from {{ source('gate', 'settings') }}
),

answers as (
    select * from {{ ref('gate_trials') }}
    where status = 'answered'
),

halves as (
    select
        study,
        vignette,
        llm,
        technique,
        direction,
        count(*) filter (where is_new) as n_new,
        count(*) filter (where not is_new) as n_old,
        avg(number) filter (where is_new) as mean_new,
        avg(number) filter (where not is_new) as mean_old,
        coalesce(var_samp(number) filter (where is_new), 0) as variance_new,
        coalesce(var_samp(number) filter (where not is_new), 0) as variance_old
    from answers
    group by all
),

compared as (
    select
        *,
        -- rounding alone has a variance of 1/12
        abs(mean_new - mean_old)
        / sqrt(greatest(variance_new, variance_old, 1 / 12.0) * (1 / n_new + 1 / n_old)) as z
    from halves
    cross join settings
    where n_new >= fewest and n_old >= fewest
)

select study, vignette, llm, technique, direction, mean_new, mean_old, z from compared
where z > drift_z and abs(mean_new - mean_old) > drift_share * abs(mean_old)
