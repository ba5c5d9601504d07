-- noqa: disable=LT02
-- With all LLMs, a headline has the value that technique_effects give it, in every specification that they have.
with effects as (
    select
        study,
        domain,
        vignette,
        technique,
        row_set,
        baseline_scope,
        weighting,
        any_value(deviation_pp) filter (where anchor_direction = 'both') as deviation_pp,
        any_value(madb_percent) filter (where anchor_direction = 'both') as madb_percent,
        any_value(deviation_pp) filter (where anchor_direction = 'low') as low_pp,
        any_value(deviation_pp) filter (where anchor_direction = 'high') as high_pp,
        high_pp - low_pp as spread_pp
    from {{ ref('technique_effects') }}
    where llm is null and temperature_scope = 'pooled'
    group by all
),

domains as (
    select
        study,
        domain,
        technique,
        row_set,
        baseline_scope,
        weighting,
        abs(avg(deviation_pp)) as deviation,
        abs(avg(spread_pp)) as susceptibility,
        avg(madb_percent) as madb,
        avg(deviation_pp) as deviation_pp,
        abs(avg(low_pp)) - abs(avg(high_pp)) as low_less_high
    from effects
    group by all
),

ranked as (
    select domains.* from domains
    inner join {{ ref('int_techniques_defined') }} as techniques using (technique)
    where techniques.is_ranked
),

{% set specification = 'study, domain, row_set, baseline_scope, weighting' %}
rivals as (
    select
        {{ specification }},
        own.technique,
        {% for metric in ['deviation', 'susceptibility', 'madb'] -%}
            min(others.{{ metric }}) - any_value(own.{{ metric }}) as first_by_{{ metric }},
        {% endfor -%}
        any_value(own.deviation) - max(others.deviation) as last_by_deviation
    from ranked as own
    inner join ranked as others using ({{ specification }})
    where own.technique != others.technique
    group by all
),

controls as (
    select * from domains
    where technique = 'no_technique'
),

expected as (
    {% for predicate in ['first_by_deviation', 'first_by_susceptibility', 'first_by_madb', 'last_by_deviation'] -%}
        select
            {{ specification }}, '{{ predicate }}' as predicate, technique, null as technique_b,
            {{ predicate }} as expected_value
        from rivals
        union all
    {% endfor -%}
    {% for predicate, metric in [
        ('closer_than_no_technique', 'deviation'), ('reduces_susceptibility', 'susceptibility'),
    ] -%}
        select
            {{ specification }}, '{{ predicate }}' as predicate, ranked.technique, null as technique_b,
            controls.{{ metric }} - ranked.{{ metric }} as expected_value
        from ranked
        inner join controls using ({{ specification }})
        union all
    {% endfor -%}
    select
        {{ specification }},
        'within_margin' as predicate,
        own.technique,
        others.technique as technique_b,
        {{ var('equivalence_margin_pp') }} - abs(own.deviation_pp - others.deviation_pp) as expected_value
    from ranked as own
    inner join ranked as others using ({{ specification }})
    where own.technique < others.technique
    union all
    select
        {{ specification }},
        'nothing_beats_no_technique' as predicate,
        null as technique,
        null as technique_b,
        min(ranked.deviation) - any_value(controls.deviation) as expected_value
    from ranked
    inner join controls using ({{ specification }})
    group by all
    union all
    select
        {{ specification }},
        'every_technique_undershoots_low_more_than_high' as predicate,
        null as technique,
        null as technique_b,
        min(low_less_high) as expected_value
    from ranked
    group by all
    union all
    select
        {{ specification }},
        'no_spread_without_technique' as predicate,
        null as technique,
        null as technique_b,
        1 - susceptibility as expected_value
    from controls
)

select *
from expected
left join {{ ref('sensitivity') }} as actual
    on
        expected.study = actual.study
        and expected.domain = actual.domain
        and expected.row_set = actual.row_set
        and expected.baseline_scope = actual.baseline_scope
        and expected.weighting = actual.weighting
        and expected.predicate = actual.predicate
        and expected.technique is not distinct from actual.technique
        and expected.technique_b is not distinct from actual.technique_b
        and actual.response_source = '{{ var("response_source") }}'
        and actual.excluded_llm is null
where
    (expected.expected_value is null) != (actual.value is null)
    or abs(expected.expected_value - actual.value) > 1e-9
