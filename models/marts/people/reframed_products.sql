-- One row per study, paradigm and item whose framing LLMs changed: which texts change most, to show to people first.
with of_items as (
    select
        study,
        paradigm,
        item,
        any_value(source_label) as source_label,
        count(*) as n_labelled,
        count(*) filter (where is_changed) as n_changed,
        count(*) filter (where answer_label = 'Positive' and is_changed) as n_to_positive,
        count(distinct llm) as n_llms
    from {{ ref('int_framings_judged') }}
    where is_counted and is_changed is not null
    group by study, paradigm, item
)

select
    *,
    n_changed / n_labelled as share_changed,
    n_to_positive / n_labelled as share_to_positive,
    share_low(n_changed, n_labelled) as share_changed_low,
    share_high(n_changed, n_labelled) as share_changed_high,
    rank() over (
        partition by study, paradigm
        order by n_to_positive / n_labelled desc, n_changed / n_labelled desc
    ) as place
from of_items
where n_changed > 0
