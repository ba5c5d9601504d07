-- One row per study, llm, technique, label of the source and label of the answer (null = it has none): how often that
-- is.
with counted as (
    select study, paradigm, llm, technique, source_label, answer_label, count(*) as n_trials
    from {{ ref('int_framings_judged') }}
    where is_counted
    group by all
)

select
    *,
    source_label != answer_label as is_changed,
    n_trials / sum(n_trials) over (partition by study, paradigm, llm, technique, source_label) as share_of_source,
    n_trials / sum(n_trials) over (partition by study, paradigm, llm, technique) as share
from counted
