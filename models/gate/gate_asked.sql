-- One row per trial of anchoring of the batches that an audit looks at, before there is any baseline: under which
-- labels it stands, with which prompt it was asked, and its number.
with trials as (
    select *, (min(anchor_value) over of_llm + max(anchor_value) over of_llm) / 2 as middle
    from {{ ref('int_trials_shown') }}
    where paradigm = 'anchoring' and role is null
    window of_llm as (partition by study, vignette, llm)
)

select
    trials.trial_id, trials.batch_id, trials.study, trials.vignette, trials.llm, trials.technique,
    case
        when trials.anchor_value is null or trials.anchor_direction_recorded = 'none' then 'none'
        when trials.anchor_direction_recorded is not null then trials.anchor_direction_recorded
        when trials.anchor_value < trials.middle then 'low'
        when trials.anchor_value > trials.middle then 'high'
    end as direction,
    concat(trials.technique, if(direction = 'none', ' without', ' with'), ' an anchor, ', trials.vignette) as question,
    trials.anchor_value,
    trials.temperature,
    trials.item,
    nullif(trials.prompt_hash, '') as prompt_hash,
    case
        when trials.status_if_recorded in ('answered', 'out_of_range') then trials.number_if_recorded
    end as number,
    batches.is_new
from trials
inner join {{ ref('gate_batches') }} as batches using (batch_id, study, vignette)
where batches.is_new or not trials.is_quarantined
