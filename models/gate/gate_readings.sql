-- One row per trial that an audit may look at, before flags: what was read of it, and what its line says.
with trials as (
    select * from {{ ref('int_trials_read') }}
)

select
    trial_id,
    batch_id,
    study,
    source,
    llm,
    llm_recorded,
    vignette,
    domain,
    response_unit,
    valid_min,
    valid_max,
    technique,
    anchor_direction_recorded,
    anchor_value,
    temperature,
    phase,
    paradigm,
    item,
    arm,
    answer_kind,
    judged,
    role,
    repeat,
    asked_at,
    number_read,
    status_read,
    note_read,
    number_if_recorded,
    status_if_recorded,
    response_text as text_hash,
    {% for name in [
        'session_id', 'llm_returned', 'anchor_baseline', 'anchor_n_trials', 'replicate', 'prompt_hash', 'finished_at',
        'text_length', 'said_hash', 'number_before', 'flag_out_of_range', 'flag_min', 'flag_max',
    ] %}
    landed['{{ name }}'] as {{ name }},
    {% endfor %}
    landed['paragraph'] as paragraph
from trials
