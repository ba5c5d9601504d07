-- One row per trial of a published batch, of any paradigm, with the baseline of its LLM that it is compared with.
with baselines as (
    select study, paradigm, vignette, item, llm, any_value(baseline) as baseline
    from {{ ref('conditions') }}
    where is_baseline and row_set = 'accepted' and temperature_scope = 'pooled'
    group by all
)

select trials.*, baselines.baseline
from {{ ref('int_trials_treated') }} as trials
left join baselines on {{ same_in('trials', 'baselines', ['study', 'paradigm', 'vignette', 'item', 'llm']) }}
