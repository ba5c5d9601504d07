-- One row per study, vignette, LLM and item of which a text holds a number that a dot makes either a decimal or one of
-- thousands: what is usual of its other answers. What a person has withdrawn tells nothing; what one has reread does.
with trials as (
    select study, vignette, llm_recorded, item, trial_id, number_recorded, response_text from {{ ref('stg_trials') }}
    where answer_kind = 'number' and is_look_back is not true
),

dotted as (
    select distinct trials.study, trials.vignette, trials.llm_recorded, trials.item from trials
    inner join {{ ref('int_texts_read') }} as texts on trials.response_text = texts.text
    where texts.number_if_grouped is not null
),

answers as (
    select
        trials.study,
        trials.vignette,
        trials.llm_recorded,
        trials.item,
        coalesce(rereadings.response, trials.number_recorded, texts.number_read) as number
    from trials
    inner join dotted on {{ same_in('trials', 'dotted', ['study', 'vignette', 'llm_recorded', 'item']) }}
    left join {{ ref('int_vignettes_defined') }} as vignettes
        on trials.study = vignettes.study and trials.vignette = vignettes.vignette
    left join {{ ref('int_texts_read') }} as texts
        on trials.response_text = texts.text and texts.response_unit = coalesce(vignettes.response_unit, 'unknown')
    left join {{ ref('stg_reread_trials') }} as rereadings on trials.trial_id = rereadings.trial_id
    anti join {{ ref('stg_withdrawn_trials') }} as withdrawn on trials.trial_id = withdrawn.trial_id
)

select study, vignette, llm_recorded, item, median(number) as usual_number from answers
where number is not null
group by study, vignette, llm_recorded, item
