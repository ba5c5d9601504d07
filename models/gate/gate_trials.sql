-- One row per trial of the batches that an audit looks at, as the models would have it were they published, with what
-- its batch declares, the LLM's own baseline, and what is usual in its cell.
with directed as (
    select * from {{ ref('int_trials_directed') }}
),

landed as (
    select
        trial_id, session_id, llm_returned, anchor_baseline, anchor_n_trials, replicate, prompt_hash, finished_at
    from {{ ref('stg_trials') }}
),

batches as (
    select * exclude (ends, models, case_numbers) from {{ ref('gate_batches') }}
),

baselines as (
    select * from {{ ref('int_baselines_read') }}
),

trials as (
    select
        * exclude (anchor_direction, number_if_recorded, response_text),
        anchor_direction as direction,
        number_if_recorded as number,
        md5(response_text) as text_hash,
        struct_pack(study, vignette, llm, technique, direction := anchor_direction) as cell,
        struct_insert(cell, anchor_value := anchor_value) as anchored_cell
    from directed
    inner join landed using (trial_id)
    inner join batches using (batch_id, study, vignette)
    left join baselines using (study, vignette, llm)
),

cells as (
    select
        cell,
        mode(anchor_value) as usual_anchor,
        mode(prompt_hash) as usual_prompt,
        median(number) filter (where status = 'answered') as usual_number
    from trials
    group by all
)

select * from trials
inner join cells using (cell)
