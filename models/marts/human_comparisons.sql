-- One row per study, llm (null = mean over LLMs, of contrasts of an outcome), vignette, outcome, instrument,
-- contrast of two arms, measure and effect on people: what anchors, or the arms of another bias, do to an LLM that is
-- asked with no technique, beside what they do to people; accepted trials, all temperatures pooled. Of the measures
-- that are known of people one leads: the anchoring index, then the difference of shares, the log odds and, with a
-- caution, a d. Of several effects on people, that of the same vignette leads, then that of the narrowest interval.
with of_all_llms as (
    select
        study,
        paradigm,
        outcome,
        instrument,
        arm,
        arm_b,
        vignette,
        measure,
        sum(n_trials)::bigint as n_trials,
        max(n_items) as n_items,
        count(estimate) as n_llms,
        avg(estimate) as llm_estimate,
        case when count(estimate) = 0 then any_value(reason) else 'mean_over_llms' end as why_null
    from {{ ref('int_effects_on_llms') }}
    where outcome is not null
    group by all
),

of_biases as (
    select * rename (estimate as llm_estimate, reason as why_null), 1 as n_llms from {{ ref('int_effects_on_llms') }}
    union all by name
    select * from of_all_llms
),

compared as (
    select
        measured.*,
        case measured.measure
            when 'anchoring_index' then 1
            when 'risk_difference' then 2
            when 'log_odds_ratio' then 3
            when 'rank_transformed_d' then 4
            else 5
        end as place,
        case when measure in ('d', 'rank_transformed_d') then 'divides_by_how_much_answers_vary' end as caution,
        people.human_effect,
        people.question as human_question,
        coalesce(people.vignette = measured.vignette, false) as is_same_vignette,
        measured.llm_estimate - measured.half_width as llm_low,
        measured.llm_estimate + measured.half_width as llm_high,
        people.estimate as human_estimate,
        people.low as human_low,
        people.high as human_high,
        measured.llm_estimate - people.estimate as difference_from_people,
        people.n_participants,
        people.population,
        people.source,
        people.doi
    from of_biases as measured
    left join {{ ref('int_human_effects_derived') }} as people using (paradigm, measure)
),

led as (
    select
        *,
        human_estimate is not null and row_number() over (
            partition by study, paradigm, llm, vignette, outcome, instrument, arm, arm_b
            order by
                human_estimate is null, llm_estimate is null, place, not is_same_vignette, human_high - human_low,
                human_effect
        ) = 1 as leads,
        nullif(concat_ws('; ', why_null, case when human_effect is null then 'no_human_effect' end), '') as reason
    from compared
)

select {{ declared_columns() }} from led
