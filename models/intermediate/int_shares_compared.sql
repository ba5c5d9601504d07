-- One row per study, llm, vignette, outcome, contrast of two arms and measure: how the shares of an answer differ
-- between two arms, asked with no technique, all trials pooled; half_width is that of the 95 % interval over trials.
with counts as (
    select * from {{ ref('item_counts') }}
    where row_set = 'accepted' and technique = 'no_technique'
),

paradigms as (
    select * from {{ ref('stg_paradigms') }}
    where is_share
),

contrasts as (
    select * from {{ ref('stg_paradigm_contrasts') }}
),

shares as (
    select
        counts.study,
        counts.paradigm,
        counts.measure as outcome,
        contrasts.arm,
        contrasts.arm_b,
        counts.llm,
        counts.vignette,
        sum(counts.n_trials)::bigint as n_trials,
        coalesce(sum(counts.n_trials) filter (where counts.arm = contrasts.arm), 0) as n_a,
        coalesce(sum(counts.n_trials) filter (where counts.arm = contrasts.arm_b), 0) as n_b,
        sum(counts.sum_of_values) filter (where counts.arm = contrasts.arm) / nullif(n_a, 0) as share_a,
        sum(counts.sum_of_values) filter (where counts.arm = contrasts.arm_b) / nullif(n_b, 0) as share_b,
        share_a - share_b as difference,
        share_a * (1 - share_a) as variance_a,
        share_b * (1 - share_b) as variance_b,
        n_a * variance_a + n_b * variance_b as squares
    from counts
    inner join paradigms
        on
            counts.study = paradigms.study
            and counts.paradigm = paradigms.paradigm
            and counts.measure = paradigms.measure
    inner join contrasts
        on
            counts.study = contrasts.study
            and counts.paradigm = contrasts.paradigm
            and counts.arm in (contrasts.arm, contrasts.arm_b)
    group by all
),

measured as (
    select
        *,
        'risk_difference' as measure,
        difference as estimate,
        sqrt(nullif(variance_a / n_a + variance_b / n_b, 0)) as error
    from shares
    union all
    select
        *,
        'log_odds_ratio' as measure,
        case
            when variance_a > 0 and variance_b > 0
                then ln(share_a / (1 - share_a)) - ln(share_b / (1 - share_b))
        end as estimate,
        case
            when variance_a > 0 and variance_b > 0 then sqrt(1 / (n_a * variance_a) + 1 / (n_b * variance_b))
        end as error
    from shares
    union all
    select
        *,
        'd' as measure,
        difference / sqrt(nullif(squares, 0) / (n_a + n_b - 2)) as estimate,
        {{ error_of_d('estimate', 'n_a', 'n_b') }} as error
    from shares
)

select
    study,
    paradigm,
    outcome,
    arm,
    arm_b,
    llm,
    vignette,
    measure,
    n_trials,
    estimate,
    {{ normal_quantile_975() }} * error as half_width,
    {{ reasons([
        ("n_a = 0 or n_b = 0", "missing_arm"),
        ("measure != 'log_odds_ratio' and squares = 0", "zero_variance"),
        ("measure = 'log_odds_ratio' and least(n_a, n_b) > 0 and least(variance_a, variance_b) = 0", "zero_variance"),
    ]) }} as reason
from measured
where n_trials > 0
