-- One row per study, measure, instrument, technique, contrast, llm (null = all), row set and weighting: the mean
-- value in `arm` less that in `arm_b`, or less the reference of the measure where there is no other arm. Where arms
-- are paired by item, only items enter that an LLM has answered in both.
with counts as (
    select * from {{ ref('item_counts') }}
),

contrasts as (
    select * from {{ ref('stg_paradigm_contrasts') }}
),

paradigms as (
    select study, paradigm, measure, pairing, reference from {{ ref('stg_paradigms') }}
),

sides as (
    select
        counts.study,
        counts.paradigm,
        counts.measure,
        counts.instrument,
        counts.technique,
        contrasts.arm,
        contrasts.arm_b,
        counts.row_set,
        counts.llm,
        counts.vignette,
        counts.item,
        coalesce(sum(counts.n_trials) filter (where counts.arm = contrasts.arm), 0) as n_a,
        coalesce(sum(counts.n_trials) filter (where counts.arm = contrasts.arm_b), 0) as n_b,
        sum(counts.sum_of_values) filter (where counts.arm = contrasts.arm) as sum_a,
        sum(counts.sum_of_values) filter (where counts.arm = contrasts.arm_b) as sum_b,
        any_value(case when contrasts.arm_b is null then coalesce(paradigms.reference, 0) end) as held_against,
        {{ item_enters('paradigms.pairing', 'n_a', 'if(held_against is null, n_b, n_a)') }} as is_used
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
        instrument,
        technique,
        arm,
        arm_b,
        row_set,
        llm,
        avg(sum_a / n_a) filter (where is_used and n_a > 0)
        - coalesce(any_value(held_against), avg(sum_b / n_b) filter (where is_used and n_b > 0)) as value,
        any_value(held_against) as held_against,
        sum(sum_a) filter (where is_used and n_a > 0) as total_a,
        sum(sum_b) filter (where is_used and n_b > 0) as total_b,
        coalesce(sum(n_a) filter (where is_used), 0) as n_used_a,
        coalesce(sum(n_b) filter (where is_used), 0) as n_used_b,
        sum(n_a) = 0 or (sum(n_b) = 0 and count(held_against) = 0) as lacks_arm,
        value is not null as is_comparable
    from sides
    group by all
),

comparable as (
    select study, paradigm, measure, instrument, technique, arm, arm_b, row_set, llm from of_llms
    where is_comparable
),

items as (
    select
        study,
        paradigm,
        measure,
        instrument,
        technique,
        arm,
        arm_b,
        row_set,
        llm,
        count(distinct struct_pack(vignette, item)) as n_items
    from sides
    semi join comparable
        on
            sides.study = comparable.study
            and sides.paradigm = comparable.paradigm
            and sides.measure = comparable.measure
            and sides.instrument is not distinct from comparable.instrument
            and sides.technique = comparable.technique
            and sides.arm = comparable.arm
            and sides.arm_b is not distinct from comparable.arm_b
            and sides.row_set = comparable.row_set
            and sides.llm = comparable.llm
    where is_used and n_a + n_b > 0
    group by grouping sets (
        (study, paradigm, measure, instrument, technique, arm, arm_b, row_set, llm),
        (study, paradigm, measure, instrument, technique, arm, arm_b, row_set)
    )
),

summed as (
    select
        study,
        paradigm,
        measure,
        instrument,
        technique,
        arm,
        arm_b,
        row_set,
        llm,
        avg(value) as llms_alike,
        sum(total_a) filter (where is_comparable) / sum(n_used_a) filter (where is_comparable)
        - coalesce(
            any_value(held_against),
            sum(total_b) filter (where is_comparable) / sum(n_used_b) filter (where is_comparable)
        ) as trials_alike,
        coalesce(sum(n_used_a + n_used_b) filter (where is_comparable), 0)::bigint as n_trials,
        count(value) as n_llms,
        bool_and(lacks_arm) as lacks_arm
    from of_llms
    group by grouping sets (
        (study, paradigm, measure, instrument, technique, arm, arm_b, row_set, llm),
        (study, paradigm, measure, instrument, technique, arm, arm_b, row_set)
    )
),

weighted as (
    select *, 'llm' as weighting, llms_alike as value from summed
    union all
    select *, 'trial' as weighting, trials_alike as value from summed
)

select
    weighted.study,
    weighted.paradigm,
    weighted.measure,
    weighted.instrument,
    weighted.technique,
    weighted.arm,
    weighted.arm_b,
    weighted.llm,
    weighted.row_set,
    weighted.weighting,
    weighted.value,
    coalesce(items.n_items, 0) as n_items,
    weighted.n_trials,
    weighted.n_llms,
    {{ reasons([
        ("weighted.value is null and weighted.lacks_arm", "missing_arm"),
        ("weighted.value is null and not weighted.lacks_arm", "missing_pair"),
    ]) }} as reason
from weighted
left join items
    on
        weighted.study = items.study
        and weighted.paradigm = items.paradigm
        and weighted.measure = items.measure
        and weighted.technique = items.technique
        and weighted.arm = items.arm
        and weighted.instrument is not distinct from items.instrument
        and weighted.arm_b is not distinct from items.arm_b
        and weighted.row_set = items.row_set
        and weighted.llm is not distinct from items.llm
