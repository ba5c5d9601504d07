-- One row per trial of a published batch, of any paradigm, with the direction of its anchor: as recorded, else against
-- the LLM's own baseline, else (an LLM without a baseline) against its other anchors, else unknown.
with anchors as (
    select study, vignette, item, llm, min(anchor_value) as lowest, max(anchor_value) as highest
    from {{ ref('int_trials_shown') }}
    where not is_quarantined
    group by all
)

select
    trials.*,
    case
        when trials.anchor_direction_recorded in ('none', 'low', 'high') then trials.anchor_direction_recorded
        when trials.anchor_value is null then 'none'
        when trials.anchor_value < baselines.baseline then 'low'
        when trials.anchor_value > baselines.baseline then 'high'
        when anchors.lowest = anchors.highest then 'unknown'
        when trials.anchor_value <= anchors.lowest then 'low'
        when trials.anchor_value >= anchors.highest then 'high'
        else 'unknown'
    end as anchor_direction
from {{ ref('int_trials_shown') }} as trials
left join {{ ref('int_baselines_read') }} as baselines
    on {{ same_in('trials', 'baselines', ['study', 'vignette', 'item', 'llm']) }}
left join anchors on {{ same_in('trials', 'anchors', ['study', 'vignette', 'item', 'llm']) }}
