-- What is recommended in the sensitivity of a bias is what is decided, and each decision has just one such row.
with recommended as (
    select * from {{ ref('outcome_sensitivity') }}
    where is_recommended
),

decided as (
    select * from {{ ref('outcome_decisions') }}
    where llm is null and control is not null and decision is not null
)

select
    decided.study,
    decided.paradigm,
    decided.measure,
    decided.instrument,
    decided.arm,
    decided.arm_b,
    decided.technique,
    decided.control,
    count(recommended.study) as n_recommended
from decided
left join recommended
    on
        decided.study = recommended.study
        and decided.paradigm = recommended.paradigm
        and decided.measure = recommended.measure
        and decided.instrument is not distinct from recommended.instrument
        and decided.arm = recommended.arm
        and decided.arm_b is not distinct from recommended.arm_b
        and decided.technique = recommended.technique
        and decided.control = recommended.control
        and decided.decision = recommended.decision
        and decided.decision_asked = recommended.decision_asked
        and decided.n_llms = recommended.n_llms
        and abs(coalesce(decided.gain_low, 0) - coalesce(recommended.gain_low, 0)) < 1e-9
        and recommended.n_same_decision between 1 and recommended.n_specifications
group by all
having count(recommended.study) != 1
