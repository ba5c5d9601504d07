-- One row per scoring, prompt, target and rule: the log-probability of an answer that nobody gave.
select
    study,
    scoring,
    prompt_hash,
    target,
    rule,
    llm_recorded,
    revision,
    dtype,
    device,
    chat_template_hash,
    log_probability,
    bos_log_probability
from {{ source('raw', 'target_scores') }}
