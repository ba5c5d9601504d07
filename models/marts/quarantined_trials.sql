-- One row per trial of a published batch that the gate keeps out of the public tables, with why. The row set
-- `as_recorded` counts its number all the same, because papers do.
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where is_quarantined
),

baselines as (
    select study, vignette, llm, baseline from {{ ref('baselines') }}
    where temperature_scope = 'pooled'
)

select
    trial_id,
    batch_id,
    study,
    llm,
    domain,
    vignette,
    technique,
    anchor_direction,
    anchor_value,
    temperature,
    status,
    response_recorded,
    first_response,
    baselines.baseline,
    flag_reasons,
    response_text,
    asked_at,
    source,
    source_file,
    source_line
from trials
left join baselines using (study, vignette, llm)
