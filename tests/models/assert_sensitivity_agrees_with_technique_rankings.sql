-- noqa: disable=LT02
-- The recommended specification says what the public ranks say: whose rank is 1 alone, whether the metrics disagree.
with rankings as (
    select
        * exclude (metrics_disagree),
        not bool_or(rank_by_net_deviation = 1 and rank_by_net_spread = 1) over (partition by study, domain)
            as metrics_disagree
    from {{ ref('technique_rankings') }}
    where llm is null and rank_by_net_deviation is not null and rank_by_net_spread is not null
),

expected as (
    {% for metric, rank in [
        ('deviation', 'rank_by_net_deviation'), ('susceptibility', 'rank_by_net_spread'), ('madb', 'rank_by_madb'),
    ] -%}
        select
            study, domain, 'first_by_{{ metric }}' as predicate, technique,
            {{ rank }} = 1 and count(*) filter (where {{ rank }} = 1) over (partition by study, domain) = 1
                as expected_to_stand,
            count(*) over (partition by study, domain) as n_ranked
        from rankings
        union all
    {% endfor -%}
    select
        study,
        domain,
        'metrics_disagree' as predicate,
        null as technique,
        bool_or(metrics_disagree) as expected_to_stand,
        count(*) as n_ranked
    from rankings
    group by all
),

actual as (
    select * from {{ ref('sensitivity') }}
    where is_recommended
)

select expected.*, actual.stands
from expected
left join actual
    on
        expected.study = actual.study
        and expected.domain = actual.domain
        and expected.predicate = actual.predicate
        and expected.technique is not distinct from actual.technique
where expected.n_ranked > 1 and expected.expected_to_stand is distinct from actual.stands
