-- One row per trial of the batches that an audit looks at: what is its own, and the kind that it is of.
select
    trial_id, kind, number_if_recorded as number, response_text as text_hash, item, read_as, is_read_by_source, judged,
    repeat, replicate, session_id, asked_at, finished_at, text_length, said_hash,
    coalesce(reason_recorded = 'error_as_answer', false) as is_error_text
from {{ ref('gate_treated') }}
