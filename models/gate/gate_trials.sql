-- One row per trial of the batches that an audit looks at, as the models would have it were they published, with what
-- its batch declares, the LLM's own baseline, and what is usual in its cell (LLM, technique and anchor direction).
with directed as (
    select * from {{ ref('int_trials_directed') }}
),

landed as (
    select
        trial_id, session_id, llm_returned, anchor_baseline, anchor_n_trials, replicate, prompt_hash, finished_at
    from {{ ref('stg_trials') }}
),

batches as (
    select * exclude (llms, models, case_numbers) from {{ ref('gate_batches') }}
),

baselines as (
    select * from {{ ref('int_baselines_read') }}
),

trials as (
    select
        directed.* exclude (anchor_direction),
        directed.anchor_direction as direction,
        directed.number_if_recorded as number,
        md5(directed.response_text) as text_hash,
        landed.* exclude (trial_id),
        batches.* exclude (batch_id, study, vignette),
        baselines.baseline,
        baselines.sd_baseline
    from directed
    inner join landed using (trial_id)
    inner join batches using (batch_id, study, vignette)
    left join baselines using (study, vignette, llm)
),

cells as (
    select
        study,
        vignette,
        llm,
        technique,
        direction,
        mode(anchor_value) as usual_anchor,
        mode(prompt_hash) as usual_prompt,
        median(number) filter (where status = 'answered') as usual_number
    from trials
    group by all
)

select trials.*, cells.usual_anchor, cells.usual_prompt, cells.usual_number
from trials
inner join cells using (study, vignette, llm, technique, direction)
