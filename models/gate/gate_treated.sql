-- One row per trial of the batches that an audit looks at, as the models would have it were they published, with its
-- `kind`: what it shares with most others. What an earlier audit has quarantined is not there: it decides nothing.
with looked_at as (
    select
        trials.* replace (coalesce(templates.same_as, trials.prompt_hash) as prompt_hash),
        batches.is_new,
        -- has a baseline and anchors of its own; of other biases an item is no part of a kind, since there may be many
        case when trials.paradigm = 'anchoring' then trials.item end as item_of_anchors
    from {{ ref('int_trials_treated') }} as trials
    inner join {{ ref('gate_batches') }} as batches using (batch_id, study, vignette)
    left join {{ source('gate', 'templates') }} as templates
        on
            trials.study = templates.study and trials.prompt_hash = templates.prompt_hash
            and templates.is_anchored = (trials.anchor_value is not null)
    where batches.is_new or not trials.is_quarantined
)

select
    *,
    hash(
        batch_id, study, vignette, domain, valid_min, valid_max, llm, llm_recorded, llm_returned, technique,
        anchor_direction, anchor_value, anchor_baseline, anchor_n_trials, arm, role, source, phase, paradigm,
        answer_kind, temperature, prompt_hash, status, note_read, is_quarantined, item_of_anchors
    ) as kind
from looked_at
