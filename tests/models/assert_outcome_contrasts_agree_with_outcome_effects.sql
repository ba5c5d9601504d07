-- SQL and Python have the same contrast of arms, of as many trials, items and LLMs, wherever either has one.
with contrasts as (
    select * from {{ ref('outcome_contrasts') }}
    where value is not null and (level = 'both' or llm is not null)
),

effects as (
    select * from {{ ref('outcome_effects') }}
    where value is not null and (weighting = 'llm' or llm is null)
)

select
    coalesce(contrasts.study, effects.study) as study,
    coalesce(contrasts.measure, effects.measure) as measure,
    coalesce(contrasts.technique, effects.technique) as technique,
    coalesce(contrasts.arm, effects.arm) as arm,
    coalesce(contrasts.arm_b, effects.arm_b) as arm_b,
    coalesce(contrasts.llm, effects.llm) as llm,
    coalesce(contrasts.row_set, effects.row_set) as row_set,
    coalesce(contrasts.weighting, effects.weighting) as weighting,
    contrasts.value as value_of_contrasts,
    effects.value as value_of_effects
from contrasts
full join effects
    on
        contrasts.study = effects.study
        and contrasts.paradigm = effects.paradigm
        and contrasts.measure = effects.measure
        and contrasts.technique = effects.technique
        and contrasts.arm = effects.arm
        and contrasts.arm_b is not distinct from effects.arm_b
        and contrasts.llm is not distinct from effects.llm
        and contrasts.row_set = effects.row_set
        and contrasts.weighting = effects.weighting
where
    contrasts.value is null
    or effects.value is null
    or abs(contrasts.value - effects.value) > 1e-9 * greatest(1, abs(effects.value))
    or contrasts.n_trials != effects.n_trials
    or contrasts.n_items != effects.n_items
    or contrasts.n_llms != effects.n_llms
