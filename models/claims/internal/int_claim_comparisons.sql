-- noqa: disable=LT02,RF03
-- One row per quantity, specification that a claim asks for, technique (null = all that are ranked), second technique
-- and llm (null = all): what the sentences of a paper compare, under its own specification: the gain against no
-- technique, low against high anchors, one metric against another, LLMs under two techniques, the order of the
-- techniques at each temperature.
{% set keys_but_temperature = [
    'study', 'domain', 'row_set', 'baseline_scope', 'weighting', 'direction_weighting', 'baseline_pooling', 'estimator',
    'non_null', 'excluded_llm',
] %}
{% set keys = (keys_but_temperature + ['temperature_scope']) | join(', ') %}
with techniques as (
    select * from {{ ref('techniques') }}
),

sided as (
    select
        *,
        abs(any_value(deviation_pp) filter (where technique = 'no_technique') over one_direction) as distance_of_none,
        abs(any_value(spread_pp) filter (where technique = 'no_technique') over one_direction) as spread_of_none,
        abs(any_value(deviation_pp) filter (where anchor_direction = 'low') over one_technique) as low_distance,
        abs(any_value(deviation_pp) filter (where anchor_direction = 'high') over one_technique) as high_distance
    from {{ ref('int_claim_effects') }}
    window
        one_direction as (partition by {{ keys }}, llm, anchor_direction),
        one_technique as (partition by {{ keys }}, llm, technique)
),

of_both as (
    select * from sided
    where anchor_direction = 'both'
),

ranked as (
    select of_both.* from of_both
    inner join techniques using (technique)
    where is_ranked
),

-- how much nearer to the baseline a technique is than no technique, and a high anchor leaves answers than a low one
of_techniques as (
    select
        {{ keys }}, technique, llm, anchor_direction, n_trials,
        {{ numbers({
            'gain_by_deviation': "case when technique != 'no_technique' then distance_of_none - abs(deviation_pp) end",
            'gain_by_susceptibility': "case when technique != 'no_technique' then spread_of_none - abs(spread_pp) end",
            'nothing_beats_no_technique_by_deviation':
                "case when technique = 'no_technique' then rank_by_deviation_with_no_technique = 1 end",
            'low_less_high_distance': 'low_distance - high_distance',
        }) }}
    from of_both
),

of_domains as (
    select
        {{ keys }}, llm, anchor_direction, sum(n_trials)::bigint as n_trials,
        {{ numbers({
            'metrics_disagree': 'not bool_or(rank_by_deviation = 1 and rank_by_susceptibility = 1)',
            'range_by_deviation': 'max(abs(deviation_pp)) - min(abs(deviation_pp))',
        }) }}
    from ranked
    group by {{ keys }}, llm, anchor_direction
),

-- how much more the LLMs differ under one technique than under another
between_llms as (
    select
        {{ keys }}, technique, anchor_direction,
        sum(n_trials)::bigint as n_trials,
        stddev_samp(percent_of_baseline) as sd
    from of_both
    where llm is not null
    group by {{ keys }}, technique, anchor_direction
),

of_pairs as (
    select
        of_one.* exclude (sd, n_trials),
        of_other.technique as technique_b,
        of_one.n_trials + of_other.n_trials as n_trials,
        {{ numbers({'between_llm_sd_ratio': 'of_one.sd / nullif(of_other.sd, 0)'}) }}
    from between_llms as of_one
    inner join between_llms as of_other
        on of_one.technique != of_other.technique and {{ same_in('of_one', 'of_other', keys.split(', ')) }}
),

orders as (
    select
        {{ keys }}, llm, anchor_direction,
        sum(n_trials)::bigint as n_trials,
        list(technique order by rank_by_deviation, technique) as techniques
    from ranked
    group by {{ keys }}, llm, anchor_direction
),

-- at how many temperatures the techniques stand in another order than over all
of_orders as (
    select
        pooled.* exclude (techniques),
        {{ numbers({'n_temperatures_ranked_otherwise': 'count_if(pooled.techniques != of_temperature.techniques)'}) }}
    from orders as pooled
    inner join orders as of_temperature
        on {{ same_in('pooled', 'of_temperature', keys_but_temperature + ['llm', 'anchor_direction']) }}
    where pooled.temperature_scope = 'pooled' and of_temperature.temperature_scope != 'pooled'
    group by all
),

together as (
    {% for part in ['of_techniques', 'of_domains', 'of_pairs', 'of_orders'] -%}
        select * from {{ part }}
        {{ 'union all by name' if not loop.last }}
    {% endfor %}
),

estimates as (
    select *, unnest(numbers) as number from together
)

select number.quantity, {{ keys }}, technique, technique_b, llm, anchor_direction, number.value, n_trials
from estimates
where number.value is not null
