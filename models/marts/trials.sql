-- One row per trial.
-- What the gate quarantined is in quarantined_trials.
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where not is_quarantined
),

baselines as (
    select study, vignette, llm, baseline from {{ ref('baselines') }}
    where temperature_scope = 'pooled'
),

compared as (
    select
        trials.*,
        baselines.baseline,
        {{ percent_of_baseline('trials.response', 'baselines.baseline') }} as percent_of_baseline
    from trials
    left join baselines using (study, vignette, llm)
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
    response,
    response_recorded,
    first_response,
    response_unit,
    baseline,
    percent_of_baseline,
    {{ reasons([
        ("response is null", "' || reason || '"),
        ("baseline is null", "no_baseline"),
        ("baseline = 0", "zero_baseline"),
    ]) }} as reason,
    response_text,
    asked_at,
    source,
    source_file,
    source_line
from compared
