-- One row per call, failed ones too.
select
    call_id,
    trial_id,
    study,
    turn,
    attempt,
    upstream_provider,
    request_id,
    parameters,
    error,
    response_text,
    logprobs,
    tokens_in,
    tokens_out,
    latency_s,
    cost_usd
from {{ source('raw', 'calls') }}
