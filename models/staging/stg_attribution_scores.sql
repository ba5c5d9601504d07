-- One row per score that was landed: the log-probability of a target under an anchor, and what it is a score of.
-- `record_id` is what versions of a source call the variation of a scoring; who asks the same `prompt` of the same LLM
-- should get the same score.
select
    * exclude (archive, source_line, line, _dlt_load_id),
    concat_ws('/', scoring, variation, anchor, target) as score_id,
    concat_ws('/', scoring, variation) as record_id,
    split_part(variation, '-', 1) as question,
    concat_ws('/', study, question, anchor) as prompt,
    'scores' as evidence_from
from {{ source('raw', 'attribution_scores') }}
