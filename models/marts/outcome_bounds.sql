-- One row per study, measure, technique, contrast of two arms and llm (null = all): the contrast of outcome_effects,
-- and how small and large it would be had every trial been answered. Values that are 1 or 0 bound it: missing ones are
-- all 0 in one arm and all 1 in the other. Items weigh the same in an LLM, and LLMs do over all. What an instrument
-- measures has no such bounds and is not here.
with counts as (
    select * from {{ ref('item_counts') }}
    where row_set = 'accepted' and instrument is null
),

contrasts as (
    select * from {{ ref('stg_paradigm_contrasts') }}
    where arm_b is not null
),

paradigms as (
    select
        study,
        paradigm,
        measure,
        pairing,
        is_share
    from {{ ref('stg_paradigms') }}
),

effects as (
    select * from {{ ref('outcome_effects') }}
    where row_set = 'accepted' and weighting = 'llm' and instrument is null
),

sides as (
    select
        counts.study,
        counts.paradigm,
        counts.measure,
        counts.technique,
        contrasts.arm,
        contrasts.arm_b,
        counts.llm,
        counts.vignette,
        counts.item,
        any_value(paradigms.is_share) as is_share,
        {% for side, arm in [('a', 'arm'), ('b', 'arm_b')] %}
        coalesce(sum(counts.n_asked) filter (where counts.arm = contrasts.{{ arm }}), 0) as n_{{ side }},
        coalesce(sum(counts.n_trials) filter (where counts.arm = contrasts.{{ arm }}), 0) as n_answered_{{ side }},
        coalesce(sum(counts.sum_of_values) filter (where counts.arm = contrasts.{{ arm }}), 0) as sum_{{ side }},
        {% endfor %}
        {{ item_enters('paradigms.pairing', 'n_a', 'n_b') }} as is_used
    from counts
    inner join contrasts
        on
            counts.study = contrasts.study
            and counts.paradigm = contrasts.paradigm
            and counts.arm in (contrasts.arm, contrasts.arm_b)
    inner join paradigms
        on
            counts.study = paradigms.study
            and counts.paradigm = paradigms.paradigm
            and counts.measure = paradigms.measure
    group by all
),

of_llms as (
    select
        study,
        paradigm,
        measure,
        technique,
        arm,
        arm_b,
        llm,
        any_value(is_share) as is_share,
        sum(n_a + n_b) filter (where is_used) as n_asked,
        sum(n_a - n_answered_a + n_b - n_answered_b) filter (where is_used) as n_missing,
        {% for side in ('a', 'b') %}
        avg(sum_{{ side }} / n_{{ side }}) filter (where is_used and n_{{ side }} > 0) as least_{{ side }},
        avg(1 + (sum_{{ side }} - n_answered_{{ side }}) / n_{{ side }})
        filter (where is_used and n_{{ side }} > 0) as most_{{ side }},
        {% endfor %}
        least_a - most_b as value_low,
        most_a - least_b as value_high
    from sides
    group by all
),

summed as (
    select
        study,
        paradigm,
        measure,
        technique,
        arm,
        arm_b,
        llm,
        coalesce(sum(n_asked) filter (where value_low is not null), 0)::bigint as n_asked,
        coalesce(sum(n_missing) filter (where value_low is not null), 0)::bigint as n_missing,
        avg(value_low) as value_low,
        avg(value_high) as value_high,
        bool_and(coalesce(is_share or n_missing = 0, true)) as is_bounded
    from of_llms
    group by grouping sets (
        (study, paradigm, measure, technique, arm, arm_b, llm), (study, paradigm, measure, technique, arm, arm_b)
    )
)

select
    summed.study,
    summed.paradigm,
    summed.measure,
    summed.technique,
    summed.arm,
    summed.arm_b,
    summed.llm,
    summed.n_asked,
    summed.n_missing,
    effects.value,
    case when summed.is_bounded then summed.value_low end as value_low,
    case when summed.is_bounded then summed.value_high end as value_high,
    {{ reasons([
        ("not summed.is_bounded", "no_valid_range"),
        ("effects.value is null and summed.value_low is not null", "no_answers"),
        ("summed.value_low is null", "missing_arm"),
    ]) }} as reason
from summed
left join effects
    on
        summed.study = effects.study
        and summed.paradigm = effects.paradigm
        and summed.measure = effects.measure
        and summed.technique = effects.technique
        and summed.arm = effects.arm
        and summed.arm_b = effects.arm_b
        and summed.llm is not distinct from effects.llm
