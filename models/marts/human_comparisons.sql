-- One row per study, llm (null = mean over LLMs, of biases other than anchoring), vignette, outcome, contrast of two
-- arms, measure and effect on people: what anchors, or the arms of another bias, do to an LLM that is asked with no
-- technique, beside what they do to people; accepted trials, all temperatures pooled. Of the measures that are known
-- of people one leads: the anchoring index, then the difference of shares, the log odds and, with a caution, a d. Of
-- several effects on people, that of the same vignette leads, then the one with the narrowest interval.
with responses as (
    select
        study,
        domain,
        vignette,
        llm,
        anchor_direction,
        anchor_value,
        response,
        n_trials
    from {{ ref('int_responses_counted') }}
    where anchor_direction in ('low', 'high') and row_set = 'accepted' and technique = 'no_technique'
),

people as (
    select * from {{ ref('int_human_effects_derived') }}
),

shares as (
    select * from {{ ref('int_shares_compared') }}
),

running as (
    select
        *,
        sum(n_trials) over (partition by study, vignette, llm order by response) as n_up_to,
        sum(n_trials) over (partition by study, vignette, llm, response) as n_equal
    from responses
),

scaled as (
    select *, 'as_answered' as scale, response as answer from running
    union all
    select *, 'ranks' as scale, n_up_to - (n_equal - 1) / 2 as answer from running
),

placed as (
    select
        *,
        sum(n_trials * answer) over cell / sum(n_trials) over cell as mean_answer
    from scaled
    window cell as (partition by study, vignette, llm, anchor_direction, scale)
),

conditions as (
    select
        study,
        domain,
        vignette,
        llm,
        scale,
        anchor_direction,
        sum(n_trials)::bigint as n,
        sum(n_trials * anchor_value) / sum(n_trials) as mean_anchor,
        any_value(mean_answer) as mean_answer,
        case
            when min(answer) = max(answer) and n > 1 then 0
            else sum(n_trials * (answer - mean_answer) ** 2) / nullif(n - 1, 0)
        end as variance
    from placed
    group by all
),

paired as (
    select
        study,
        domain,
        vignette,
        llm,
        scale,
        {% for direction in ('low', 'high') %}
        any_value(n) filter (where anchor_direction = '{{ direction }}') as n_{{ direction }},
        any_value(mean_anchor) filter (where anchor_direction = '{{ direction }}') as {{ direction }}_anchor,
        any_value(mean_answer) filter (where anchor_direction = '{{ direction }}') as {{ direction }}_mean,
        any_value(variance) filter (where anchor_direction = '{{ direction }}') as {{ direction }}_variance,
        {% endfor %}
        sum(n)::bigint as n_trials,
        high_mean - low_mean as difference,
        low_variance / n_low as low_error_2,
        high_variance / n_high as high_error_2,
        sqrt(nullif(low_error_2 + high_error_2, 0)) as error,
        (low_error_2 + high_error_2) ** 2
        / nullif(low_error_2 ** 2 / (n_low - 1) + high_error_2 ** 2 / (n_high - 1), 0) as df,
        difference
        / sqrt(nullif((n_low - 1) * low_variance + (n_high - 1) * high_variance, 0) / (n_low + n_high - 2)) as d
    from conditions
    group by all
),

measured as (
    select
        *,
        'anchoring_index' as measure,
        {{ index_between_anchors('difference', 'low_anchor', 'high_anchor') }} as llm_estimate,
        {{ t_quantile_975('df') }}
        * abs({{ index_between_anchors('error', 'low_anchor', 'high_anchor') }}) as half_width
    from paired
    where scale = 'as_answered'
    union all
    select
        *,
        case scale when 'ranks' then 'rank_transformed_d' else 'd' end as measure,
        d as llm_estimate,
        {{ normal_quantile_975() }} * {{ error_of_d('d', 'n_low', 'n_high') }} as half_width
    from paired
),

anchored as (
    select
        study,
        domain,
        vignette,
        llm,
        n_trials,
        measure,
        llm_estimate,
        half_width,
        'anchoring' as paradigm,
        {{ reasons([
            ("n_low is null", "no_low_anchor"),
            ("n_high is null", "no_high_anchor"),
            ("low_anchor = high_anchor", "equal_anchors"),
            ("least(n_low, n_high) = 1", "one_trial"),
            ("low_variance = 0 and high_variance = 0", "zero_variance"),
        ]) }} as why_null
    from measured
),

of_all_llms as (
    select
        study,
        paradigm,
        outcome,
        arm,
        arm_b,
        vignette,
        measure,
        sum(n_trials)::bigint as n_trials,
        max(n_items) as n_items,
        count(estimate) as n_llms,
        avg(estimate) as llm_estimate,
        case when count(estimate) = 0 then any_value(reason) else 'mean_over_llms' end as why_null
    from shares
    group by all
),

of_biases as (
    select *, 1 as n_llms from anchored
    union all by name
    select * rename (estimate as llm_estimate, reason as why_null), 1 as n_llms from shares
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
        case
            when measured.measure in ('d', 'rank_transformed_d') then 'divides_by_how_much_answers_vary'
        end as caution,
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
    left join people on measured.paradigm = people.paradigm and measured.measure = people.measure
),

led as (
    select
        *,
        human_estimate is not null and row_number() over (
            partition by study, paradigm, llm, vignette, outcome, arm, arm_b
            order by
                human_estimate is null, llm_estimate is null, place, not is_same_vignette, human_high - human_low,
                human_effect
        ) = 1 as leads
    from compared
),

with_reasons as (
    select
        *,
        nullif(concat_ws('; ', why_null, case when human_effect is null then 'no_human_effect' end), '') as reason
    from led
)

select {{ declared_columns() }} from with_reasons
