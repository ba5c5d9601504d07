-- One row per score that was landed: the log-probability of a target under an anchor, and what it is a score of.
-- `record_id` is what versions of a source call the variation of a scoring; who asks the same `prompt` of the same LLM
-- should get the same score.
select
    concat_ws('/', scoring, variation, anchor, target) as score_id,
    concat_ws('/', scoring, variation) as record_id,
    study,
    batch_id,
    source_file,
    scoring,
    llm_recorded,
    anchor_regime,
    variation,
    split_part(variation, '-', 1) as question,
    concat_ws('/', study, question, anchor) as prompt,
    null::varchar as prompt_hash,
    null::varchar as dtype,
    anchor,
    target,
    log_probability,
    banzhaf_scene,
    banzhaf_comparative,
    banzhaf_absolute,
    banzhaf_anchor,
    null::double as shapley_anchor,
    'scores' as evidence_from,
    error
from {{ source('raw', 'attribution_scores') }}
