-- One row per study, llm, technique, what becomes of invalid replies, and measure: how much better statements are
-- judged that were published before the knowledge of the LLM ends than later ones.
{% set measures = [
    'authentic_accuracy', 'falsified_accuracy', 'strict_accuracy', 'informedness', 'yes_rate', 'd_prime', 'criterion',
] %}
with fact_checks as (
    select * from {{ ref('fact_checks') }}
    where period in ('pre', 'post')
),

measured as (
    select
        study,
        paradigm,
        llm,
        technique,
        period,
        invalid_replies,
        unnest([
            {% for measure in measures %}
            struct_pack(measure := '{{ measure }}', value := {{ measure }}){{ ',' if not loop.last }}
            {% endfor %}
        ]) as of_measure
    from fact_checks
),

compared as (
    select
        measured.study,
        measured.paradigm,
        measured.llm,
        measured.technique,
        measured.invalid_replies,
        measured.of_measure.measure,
        max(measured.of_measure.value) filter (where measured.period = 'pre') as pre,
        max(measured.of_measure.value) filter (where measured.period = 'post') as post
    from measured
    group by all
)

select
    study,
    paradigm,
    llm,
    technique,
    invalid_replies,
    measure,
    pre,
    post,
    pre - post as gap,
    abs(pre - post) as gap_absolute,
    {{ reasons([("pre is null", "nothing_before_cutoff"), ("post is null", "nothing_after_cutoff")]) }} as reason
from compared
