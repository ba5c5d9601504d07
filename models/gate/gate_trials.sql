-- One row per trial of the batches that an audit looks at, as the models would have it were they published, with what
-- its batch declares, the LLM's own baseline, and what is usual in its cell. What an earlier audit has quarantined is
-- not there: it decides nothing.
with directed as (
    select * from {{ ref('int_trials_treated') }}
),

templates as (
    select * from {{ source('gate', 'templates') }}
),

landed as (
    select
        trials.trial_id,
        trials.session_id,
        trials.llm_returned,
        trials.anchor_baseline,
        trials.anchor_n_trials,
        trials.replicate,
        coalesce(templates.same_as, trials.prompt_hash) as prompt_hash,
        trials.finished_at
    from {{ ref('stg_trials') }} as trials
    left join templates
        on
            trials.study = templates.study and trials.prompt_hash = templates.prompt_hash
            and templates.is_anchored = (trials.anchor_value is not null)
),

technique_versions as (
    select batch_id, technique_versions from {{ ref('stg_batches') }}
),

batches as (
    select * exclude (ends, models, techniques, written_numbers, case_numbers) from {{ ref('gate_batches') }}
),

baselines as (
    select * from {{ ref('int_baselines_read') }}
),

trials as (
    select
        * exclude (anchor_direction, number_if_recorded, response_text, technique_versions),
        anchor_direction as direction,
        number_if_recorded as number,
        md5(response_text) as text_hash,
        case direction when 'low' then rule_low when 'high' then rule_high end as by_rule,
        struct_pack(
            study,
            vignette,
            llm,
            technique,
            direction := anchor_direction,
            version := coalesce(technique_versions[technique], 1),
            arm,
            role
        ) as cell,
        struct_insert(cell, anchor_value := anchor_value) as anchored_cell
    from directed
    inner join landed using (trial_id)
    inner join batches using (batch_id, study, vignette)
    left join technique_versions using (batch_id)
    left join baselines using (study, vignette, llm)
    where is_new or not is_quarantined
),

cells as (
    select
        cell,
        mode(anchor_value order by anchor_value) as most_frequent_anchor,
        mode(prompt_hash order by prompt_hash) as usual_prompt,
        median(number) filter (where status = 'answered' and not is_quarantined) as usual_number
    from trials
    group by all
),

-- of the anchors that an archive gave an LLM, the one nearest to what its factor makes of the LLM's baseline
anchors_by_protocol as (
    select
        study,
        vignette,
        llm,
        direction,
        first(anchor_value order by abs(anchor_value - by_rule * baseline), anchor_value) as anchor_by_protocol
    from trials
    where rule is null and anchor_value is not null and by_rule is not null and baseline is not null
    group by all
)

select *, coalesce(anchor_by_protocol, most_frequent_anchor) as usual_anchor from trials
inner join cells using (cell)
left join anchors_by_protocol using (study, vignette, llm, direction)
