-- One LLM's percent of baseline under one anchor is the same number in conditions, in technique_effects and
-- as the average over the trials in marts.trials that count.
with conditions as (
    select
        study,
        llm,
        vignette,
        technique,
        arm as anchor_direction,
        sum(n_trials * percent_of_baseline)
        / sum(n_trials) filter (where percent_of_baseline is not null) as of_conditions
    from {{ ref('conditions') }}
    where
        paradigm = 'anchoring' and row_set = 'accepted' and temperature_scope = 'pooled' and n_trials > 0
    group by all
),

effects as (
    select study, llm, vignette, technique, anchor_direction, percent_of_baseline as of_effects
    from {{ ref('technique_effects') }}
    where
        llm is not null and row_set = 'accepted' and baseline_scope = 'pooled' and temperature_scope = 'pooled'
        and weighting = 'trial' and anchor_direction != 'both'
),

trials as (
    select study, llm, vignette, technique, anchor_direction, avg(percent_of_baseline) as of_trials
    from {{ ref('trials') }}
    where left_out_because is null
    group by all
)

select *
from conditions
inner join effects using (study, llm, vignette, technique, anchor_direction)
left join trials using (study, llm, vignette, technique, anchor_direction)
where
    (of_conditions is null) != (of_effects is null)
    or abs(of_conditions - of_effects) > 1e-9
    or (technique != 'sacd_initial' and (of_trials is null) != (of_effects is null))
    or abs(of_trials - of_effects) > 1e-9
