-- One row per trial of the batches that an audit looks at, as the models would have it were they published, with its
-- `kind`: what it shares with most others. What an earlier audit has quarantined is not there: it decides nothing.
select
    trials.*,
    batches.is_new,
    -- has a baseline and anchors of its own; of other biases an item is no part of a kind, since there may be many
    case when trials.paradigm = 'anchoring' then trials.item end as item_of_anchors,
    hash(
        batch_id, study, vignette, domain, valid_min, valid_max, llm, trials.llm_recorded, llm_returned, llm_named,
        technique, anchor_direction, anchor_value, anchor_baseline, anchor_n_trials, arm, role, source, phase, paradigm,
        answer_kind, temperature, prompt_hash, status, note_read, is_quarantined, item_of_anchors
    ) as kind
from {{ ref('int_trials_treated') }} as trials
inner join {{ ref('gate_batches') }} as batches using (batch_id, study, vignette)
where batches.is_new or not trials.is_quarantined
