-- One row per study, llm, vignette, outcome, contrast of two arms and measure: how the shares of an answer differ
-- between two arms, asked with no technique. Items weigh the same; half_width is that of the 95 % interval over the
-- items, or over the trials where there is one item.
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

of_items as (
    select
        counts.study,
        counts.paradigm,
        counts.measure as outcome,
        contrasts.arm,
        contrasts.arm_b,
        counts.llm,
        counts.vignette,
        counts.item,
        coalesce(sum(counts.n_trials) filter (where counts.arm = contrasts.arm), 0) as asked_a,
        coalesce(sum(counts.n_trials) filter (where counts.arm = contrasts.arm_b), 0) as asked_b,
        sum(counts.sum_of_values) filter (where counts.arm = contrasts.arm) / nullif(asked_a, 0) as item_a,
        sum(counts.sum_of_values) filter (where counts.arm = contrasts.arm_b) / nullif(asked_b, 0) as item_b,
        any_value(paradigms.pairing) = 'between' as is_between,
        {{ item_enters('paradigms.pairing', 'asked_a', 'asked_b') }} as is_used
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

shares as (
    select
        study,
        paradigm,
        outcome,
        arm,
        arm_b,
        llm,
        vignette,
        sum(asked_a + asked_b)::bigint as n_asked,
        coalesce(sum(asked_a + asked_b) filter (where is_used), 0)::bigint as n_used,
        sum(asked_a) > 0 and sum(asked_b) > 0 as has_arms,
        sum(asked_a) filter (where is_used) as n_a,
        sum(asked_b) filter (where is_used) as n_b,
        avg(item_a) filter (where is_used) as share_a,
        avg(item_b) filter (where is_used) as share_b,
        least(count(item_a) filter (where is_used), count(item_b) filter (where is_used)) as n_items,
        share_a - share_b as difference,
        share_a * (1 - share_a) as variance_a,
        share_b * (1 - share_b) as variance_b,
        n_a * variance_a + n_b * variance_b as squares,
        case
            when n_items > 1 then var_samp(item_a) filter (where is_used) / count(item_a) filter (where is_used)
            else variance_a / n_a
        end as error_a_2,
        case
            when n_items > 1 then var_samp(item_b) filter (where is_used) / count(item_b) filter (where is_used)
            else variance_b / n_b
        end as error_b_2,
        case
            when n_items > 1 and not any_value(is_between)
                then covar_samp(item_a, item_b) filter (where is_used) / n_items
            else 0
        end as shared_2,
        nullif(round(error_a_2 + error_b_2 - 2 * shared_2, 15), 0) as error_2,
        error_a_2 / nullif(variance_a, 0) ** 2 + error_b_2 / nullif(variance_b, 0) ** 2
        - 2 * shared_2 / nullif(variance_a * variance_b, 0) as log_error_2,
        case
            when n_items > 1 then {{ t_quantile_975('(n_items - 1)') }} else {{ normal_quantile_975() }}
        end as quantile
    from of_items
    group by all
),

measured as (
    select
        *,
        'risk_difference' as measure,
        difference as estimate,
        sqrt(error_2) as error
    from shares
    union all
    select
        *,
        'log_odds_ratio' as measure,
        case
            when variance_a > 0 and variance_b > 0
                then ln(share_a / (1 - share_a)) - ln(share_b / (1 - share_b))
        end as estimate,
        sqrt(nullif(greatest(log_error_2, 0), 0)) as error
    from shares
    union all
    select
        *,
        'd' as measure,
        difference / sqrt(nullif(squares, 0) / (n_a + n_b - 2)) as estimate,
        case
            when n_items > 1
                then sqrt(error_2 / (squares / (n_a + n_b - 2)) + estimate ** 2 / (2 * (n_a + n_b)))
            else {{ error_of_d('estimate', 'n_a', 'n_b') }}
        end as error
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
    case when n_used > 0 then n_used else n_asked end as n_trials,
    n_items,
    estimate,
    quantile * error as half_width,
    {{ reasons([
        ("not has_arms", "missing_arm"),
        ("has_arms and difference is null", "missing_pair"),
        ("difference is not null and (estimate is null or error is null)", "zero_variance"),
    ]) }} as reason
from measured
where n_asked > 0
