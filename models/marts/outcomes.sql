-- One row per trial of a paradigm that a study names, measure and instrument; judgements and what the gate quarantined
-- stay out.
with outcomes as (
    select * from {{ ref('int_outcomes_measured') }}
    where not is_quarantined
)

select
    study,
    trial_id,
    llm,
    vignette,
    item,
    technique,
    arm,
    paradigm,
    measure,
    instrument,
    value,
    reason
from outcomes
