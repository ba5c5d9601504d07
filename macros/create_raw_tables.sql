{# A fresh clone has no `raw`: make its tables, empty, as ingest/load.py and dlt make them (a test compares the two). #}
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
{% endmacro %}
