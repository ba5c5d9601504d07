-- One row per study, llm, technique, what becomes of invalid replies, and measure: how much better statements are
-- judged that were published before the knowledge of the LLM ends than later ones.
{% set measures = [
    'authentic_accuracy', 'falsified_accuracy', 'strict_accuracy', 'informedness', 'yes_rate', 'd_prime', 'criterion',
] %}
with measured as (
    select * from {{ ref('fact_checks') }}
    unpivot include nulls (value for measure in ({{ measures | join(', ') }}))
),

compared as (
    select
        study,
        paradigm,
        llm,
        technique,
        invalid_replies,
        measure,
        max(value) filter (where period = 'pre') as pre,
        max(value) filter (where period = 'post') as post
    from measured
    where period in ('pre', 'post')
    group by all
)

select
    *,
    pre - post as gap,
    abs(pre - post) as gap_absolute,
    {{ reasons([("pre is null", "nothing_before_cutoff"), ("post is null", "nothing_after_cutoff")]) }} as reason
from compared
