-- One row per audited batch and cell: how many trials, and what became of them.
select
    batch_id,
    cell,
    count(*) as n_trials,
    count(*) filter (where status = 'answered') as n_answered,
    count(*) filter (where status = 'refused') as n_refused,
    count(*) filter (where status = 'unparsed') as n_unparsed,
    count(*) filter (where status = 'failed') as n_failed,
    any_value(minimum) as minimum,
    any_value(is_archive) as is_archive,
    bool_or(phase in ('anchored', 'baselines', 'answers') or phase is null) as is_complete_phase,
    bool_or(direction != 'none' and baseline is null and coalesce(rule, 'proportional') = 'proportional')
        as lacks_baseline,
    list(trial_id order by trial_id)[:5] as sample
from {{ ref('gate_trials') }}
where is_new
group by all
