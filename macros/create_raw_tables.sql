{# A fresh clone has no `raw`: make its tables, empty, as ingest/load.py and dlt make them (a test compares the two); a
   warehouse of an older version gets what came since. The gate's tables are made here alone. #}
{% macro create_raw_tables() %}
create schema if not exists raw;
create table if not exists raw.trials (
    trial_id varchar not null,
    study varchar not null,
    source varchar not null,
    batch_id varchar not null,
    archive varchar,
    source_file varchar,
    source_line bigint,
    llm_recorded varchar not null,
    llm_returned varchar,
    vignette varchar not null,
    technique varchar not null,
    anchor_direction varchar,
    anchor_value double,
    temperature double,
    replicate bigint,
    status_recorded varchar,
    response_recorded double,
    first_response double,
    iterations bigint,
    response_text varchar,
    prompt_hash varchar,
    protocol varchar,
    asked_at timestamp with time zone,
    line json,
    finished_at timestamp with time zone,
    session_id varchar,
    phase varchar,
    order_index bigint,
    attempt_of varchar,
    anchor_rule json,
    anchor_baseline double,
    anchor_n_trials bigint,
    reason_recorded varchar,
    first_text varchar,
    _dlt_load_id varchar not null
);
create table if not exists raw.calls (
    call_id varchar not null,
    trial_id varchar not null,
    study varchar not null,
    session_id varchar,
    turn bigint not null,
    step varchar,
    round bigint,
    attempt bigint not null,
    n_messages bigint,
    prompt_hash varchar,
    asked_at timestamp with time zone,
    latency_s double,
    requested_model varchar,
    returned_model varchar,
    upstream_provider varchar,
    system_fingerprint varchar,
    parameters json,
    tokens_in bigint,
    tokens_out bigint,
    cost_usd double,
    cost_source varchar,
    http_status bigint,
    request_id varchar,
    finish_reason varchar,
    refusal varchar,
    error varchar,
    error_detail varchar,
    response_text varchar,
    logprobs json,
    software_version varchar,
    git_revision varchar,
    _dlt_load_id varchar not null
);
create table if not exists raw.prompts (
    study varchar not null,
    prompt_hash varchar not null,
    prompt_kind varchar not null,
    text varchar not null,
    _dlt_load_id varchar not null
);
create table if not exists raw.batches (
    batch_id varchar not null,
    study varchar not null,
    vignette varchar not null,
    source varchar not null,
    domain varchar,
    response_unit varchar,
    valid_min double,
    valid_max double,
    n_trials bigint not null,
    definition json,
    loaded_at timestamp with time zone not null,
    _dlt_load_id varchar not null
);
create table if not exists raw.quarantined_lines (
    quarantine_id varchar not null,
    study varchar not null,
    source_file varchar not null,
    line_number bigint,
    text varchar,
    reason varchar not null,
    quarantined_at timestamp with time zone not null,
    _dlt_load_id varchar not null
);
create table if not exists raw.batch_verdicts (
    verdict_id varchar not null,
    batch_id varchar not null,
    study varchar not null,
    vignette varchar not null,
    verdict varchar not null,
    n_trials bigint not null,
    n_failed bigint not null,
    n_warnings bigint not null,
    rule_version bigint not null,
    checked_at timestamp with time zone not null
);
create table if not exists raw.batch_checks (
    verdict_id varchar not null,
    batch_id varchar not null,
    check_name varchar not null,
    level varchar not null,
    is_passed boolean not null,
    observed_value double,
    threshold double not null,
    measure varchar not null,
    n_offending bigint not null,
    sample varchar[] not null,
    detail varchar
);
create table if not exists raw.flagged_trials (
    verdict_id varchar not null,
    trial_id varchar not null,
    batch_id varchar not null,
    study varchar not null,
    severity varchar not null,
    reason varchar not null,
    detail varchar,
    rule_version bigint not null,
    flagged_at timestamp with time zone not null
);
create table if not exists raw.gate_acts (
    act_id varchar not null,
    object varchar not null,
    object_id varchar not null,
    act varchar not null,
    who varchar not null,
    why varchar not null,
    acted_at timestamp with time zone not null
);
alter table raw.trials add column if not exists finished_at timestamp with time zone;
alter table raw.trials add column if not exists session_id varchar;
alter table raw.trials add column if not exists phase varchar;
alter table raw.trials add column if not exists order_index bigint;
alter table raw.trials add column if not exists attempt_of varchar;
alter table raw.trials add column if not exists anchor_rule json;
alter table raw.trials add column if not exists anchor_baseline double;
alter table raw.trials add column if not exists anchor_n_trials bigint;
alter table raw.trials add column if not exists reason_recorded varchar;
alter table raw.trials add column if not exists first_text varchar;
{% endmacro %}
