-- noqa: disable=LT02
-- One row per study, question, llm (null = all), vignette (null = all), item and technique: how large the loss is.
-- LLMs weigh the same, and so do vignettes and items that are cases. Places are among the ranked techniques of a
-- question, on the LLMs, vignettes and items that all of them have.
{% set keys = question_keys() %}
with losses as (
    select *, dense_rank() over (order by {{ keys | join(', ') }}) as question from {{ ref('int_losses') }}
),

entering as (
    select
        losses.* exclude (llm),
        losses.llm as of_llm,
        unnest([losses.llm, null]) as llm,
        not_ranked_because,
        coalesce(is_ranked, false) as is_ranked,
        coalesce(is_ranked, false) or technique = 'no_technique' as is_compared
    from losses
    left join {{ ref('int_techniques_defined') }} as techniques using (technique)
),

-- whether an LLM and vignette has every ranked technique, and whether it has no technique too
shared as (
    select
        *,
        {% for name, condition in [('', 'is_ranked'), ('_with_control', 'is_compared')] -%}
            loss is not null and count(loss) filter (where {{ condition }}) over cell
            = count(distinct technique) filter (where {{ condition }} and loss is not null) over one_llm
                as is_shared{{ name }}{{ ',' if not loop.last }}
        {% endfor %}
    from entering
    window
        one_llm as (partition by question, llm),
        cell as (partition by question, llm, of_llm, vignette, item)
),

llm_means as (
    select
        question,
        llm,
        of_llm,
        technique,
        is_ranked,
        is_compared,
        not_ranked_because,
        sum(columns('^n_(asked|missing)$')),
        sum(n_trials) filter (where loss is not null) as n_trials,
        avg(columns('^(loss|signed|signed_shift|shift|half_gap|log_ratio|loss_least|loss_most)$')),
        avg(base_loss) filter (where loss is not null) as base_loss,
        avg(loss) filter (where is_shared) as shared,
        avg(loss) filter (where is_shared_with_control) as shared_with_control,
        bool_or(n_missing > 0 and loss_most is null) as is_unbounded,
        bool_or(is_compared and loss is not null and not is_shared_with_control) as lacks_others,
        string_agg(distinct reason, '; ') as reasons
    from shared
    group by all
),

means as (
    select
        question,
        llm,
        technique,
        is_ranked,
        is_compared,
        not_ranked_because,
        sum(columns('^n_(asked|missing)$'))::bigint,
        coalesce(sum(n_trials), 0)::bigint as n_trials,
        count(loss) as n_llms,
        avg(columns('^(loss|signed|signed_shift|shift|half_gap|log_ratio|base_loss|shared|shared_with_control)$')),
        case when not bool_or(is_unbounded) then avg(loss_least) end as loss_least,
        case when not bool_or(is_unbounded) then avg(loss_most) end as loss_most,
        bool_or(is_unbounded) as is_unbounded,
        bool_or(bool_or(lacks_others)) over (partition by question, llm) as has_llms_that_differ,
        string_agg(distinct reasons, '; ') as reasons
    from llm_means
    group by question, llm, technique, is_ranked, is_compared, not_ranked_because
),

ranked as (
    select
        *,
        {{ rank_among('shared', 'is_ranked', 'question, llm') }} as rank,
        {{ rank_among('shared_with_control', 'is_compared', 'question, llm') }} as rank_with_no_technique
    from means
),

-- the order could be another one, had everybody answered: the bounds of two ranked techniques overlap
overlapping as (
    select
        better.question,
        better.llm,
        bool_or(
            (better.n_missing > 0 or worse.n_missing > 0)
            and coalesce(better.loss_most >= worse.loss_least, true)
        ) as is_not_identified
    from ranked as better
    inner join ranked as worse
        on
            better.question = worse.question
            and better.llm is not distinct from worse.llm
            and better.rank < worse.rank
    group by all
),

asked as (
    select question, any_value(leads) as leads, {{ keys | join(', ') }}
    from losses
    group by all
),

placed as (
    select
        asked.* exclude (question),
        ranked.*,
        coalesce(is_not_identified, false) as not_identified,
        list(technique) filter (where rank = 1) over one_goal as best,
        list(technique) filter (where rank = 1 and leads) over one_measure as best_by_leading
    from ranked
    inner join asked using (question)
    left join overlapping
        on ranked.question = overlapping.question and ranked.llm is not distinct from overlapping.llm
    window
        one_goal as (partition by ranked.question, ranked.llm),
        one_measure as (
            partition by study, paradigm, domain, measure, instrument, arm, arm_b, ranked.llm
        )
)

select
    {{ keys | join(',\n    ') }},
    llm,
    null as vignette,
    null as item,
    technique,
    leads,
    loss,
    signed,
    signed_shift,
    shift,
    half_gap,
    log_ratio,
    base_loss,
    loss_least,
    loss_most,
    n_asked,
    n_missing,
    n_trials,
    n_llms,
    null as n_base,
    rank,
    rank_with_no_technique,
    not list_has_any(best, best_by_leading) as goals_disagree,
    not_identified,
    case when not is_ranked then coalesce(not_ranked_because, 'not in seeds/techniques.csv') end as not_ranked_because,
    {{ reasons([
        ("loss is null", "' || reasons || '"),
        ("loss_least is null and is_unbounded", "no_valid_range"),
        ("not is_ranked", "not_ranked"),
        ("is_compared and has_llms_that_differ", "llms_lacking"),
        ("best is null or best_by_leading is null", "nothing_to_rank"),
    ]) }} as reason
from placed
union all by name
select
    * exclude (question, reason),
    1 as n_llms,
    {{ reasons([
        ("reason is not null", "' || reason || '"),
        ("n_missing > 0 and loss_most is null", "no_valid_range"),
    ]) }} as reason
from losses
