-- One row per audited batch and cell: what it is called, how many trials, and what became of them.
with samples as (
    select batch_id, cell, min(trial_id, 5) as sample from {{ ref('gate_trials') }}
    where is_new
    group by all
)

select
    batch_id,
    cell,
    any_value(study) as study,
    any_value(llm) as llm,
    any_value(technique) as technique,
    any_value(direction) as direction,
    any_value(arm) as arm,
    sum(n)::bigint as n_trials,
    {% for status in ('answered', 'refused', 'unparsed', 'failed') %}
    coalesce(sum(n) filter (where status = '{{ status }}'), 0)::bigint as n_{{ status }},
    {% endfor %}
    sum(n) filter (where is_quarantined and direction = 'none' and technique = 'no_technique') as n_held_of_baseline,
    any_value(minimum) as minimum,
    any_value(is_archive) as is_archive,
    bool_or(phase in ('anchored', 'baselines', 'answers') or phase is null) as is_complete_phase,
    bool_or(direction != 'none' and baseline is null and coalesce(rule, 'proportional') = 'proportional')
        as lacks_baseline,
    any_value(sample) as sample
from {{ ref('gate_kinds') }} as kinds
inner join samples using (batch_id, cell)
where kinds.is_new
group by batch_id, cell
