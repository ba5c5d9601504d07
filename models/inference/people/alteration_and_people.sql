-- One row per study, llm (null = all), technique, kind of alteration, period and study of people (null = none): how
-- often an LLM alters what it is given, and beside it what altered framing does to people.
with checks as (
    select
        *,
        round((1 - strict_accuracy) * n_pairs) as n_wrong
    from {{ ref('fact_checks') }}
    where invalid_replies = 'wrong' and period in ('pre', 'post')
),

altered as (
    select
        study,
        llm,
        technique,
        'framing_changed' as alteration,
        'all' as period,
        phi as rate,
        phi_low as rate_low,
        phi_high as rate_high,
        n_labelled as n_seen,
        reason
    from {{ ref('framing_changes') }}
    union all
    select
        study,
        llm,
        technique,
        'fact_check_wrong' as alteration,
        period,
        1 - strict_accuracy as rate,
        case when llm is not null then share_low(n_wrong, n_pairs) end as rate_low,
        case when llm is not null then share_high(n_wrong, n_pairs) end as rate_high,
        n_pairs as n_seen,
        nullif(concat_ws('; ', reason, case when llm is null then 'mean_over_llms' end), '') as reason
    from checks
)

select
    altered.* exclude (reason),
    people.study as human_study,
    people.estimate as human_log_odds_ratio,
    people.low as human_low,
    people.high as human_high,
    people.n_participants,
    nullif(
        concat_ws('; ', altered.reason, case when people.study is null then 'no_human_study' else people.reason end), ''
    ) as reason
from altered
left join {{ ref('human_choice_effects') }} as people
    on altered.alteration = 'framing_changed' and people.method = 'gee_exchangeable'
