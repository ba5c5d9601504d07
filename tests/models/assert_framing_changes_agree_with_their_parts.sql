-- The share that is made in SQL is the one that the interval is around, it lies between its bounds, and the transitions
-- count the same answers.
with changes as (
    select * from {{ ref('framing_changes') }}
),

corrected as (
    select * from {{ ref('framings_corrected') }}
),

transitions as (
    select
        study,
        paradigm,
        llm,
        technique,
        coalesce(sum(n_trials) filter (where is_changed is not null), 0) as n_labelled,
        coalesce(sum(n_trials) filter (where is_changed), 0) as n_changed
    from {{ ref('framing_transitions') }}
    group by grouping sets ((study, paradigm, llm, technique), (study, paradigm, technique))
)

select changes.*
from changes
left join corrected
    on
        changes.study = corrected.study
        and changes.paradigm = corrected.paradigm
        and changes.technique = corrected.technique
        and changes.llm is not distinct from corrected.llm
left join transitions
    on
        changes.study = transitions.study
        and changes.paradigm = transitions.paradigm
        and changes.technique = transitions.technique
        and changes.llm is not distinct from transitions.llm
where
    abs(changes.phi - corrected.phi) > 1e-9
    or (changes.phi is not null and corrected.phi is null)
    or changes.phi not between changes.phi_min - 1e-9 and changes.phi_max + 1e-9
    or changes.n_labelled is distinct from coalesce(transitions.n_labelled, 0)
    or changes.n_changed is distinct from coalesce(transitions.n_changed, 0)
