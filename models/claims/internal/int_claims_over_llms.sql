-- noqa: disable=LT02,RF03
-- One row per quantity, study, domain, technique and second technique (null where it is of one, or of all): a mean over
-- LLMs, each LLM one observation of the recommended specification, with Student's t interval; of two standard
-- deviations the ratio, with the interval of Pitman and Morgan.
{% set of_pair = 'study, domain, technique, technique_b' %}
with techniques as (
    select * from {{ ref('techniques') }}
),

studies as (
    select distinct study from {{ ref('int_claim_specifications') }}
),

losses as (
    select study, vignette, technique, llm from {{ ref('effects') }}
    where
        paradigm = 'anchoring' and goal = 'displacement' and vignette is not null and loss is not null
        and not contains(coalesce(reason, ''), 'baseline_below_10')
),

effects as (
    select * from {{ ref('technique_effects') }}
    semi join studies using (study)
    semi join losses using (study, vignette, technique, llm)
    where row_set = 'accepted' and baseline_scope = 'pooled' and weighting = 'llm'
),

conditions as (
    select
        study, domain, vignette, technique, llm, temperature_scope,
        any_value(n_trials) filter (where anchor_direction = 'both') as n_trials,
        any_value(skewness) filter (where anchor_direction = 'both') as skewness,
        any_value(abs(deviation_pp)) filter (where anchor_direction = 'low') as low_distance,
        any_value(abs(deviation_pp)) filter (where anchor_direction = 'high') as high_distance
    from effects
    group by all
),

llm_means as (
    select
        study, domain, technique, llm, temperature_scope,
        sum(n_trials)::bigint as n_trials,
        avg(skewness) as skewness,
        avg(low_distance - high_distance) as asymmetry,
        avg((low_distance + high_distance) / 2) as displacement
    from conditions
    group by all
),

of_one as (
    select
        study, domain, temperature_scope, technique, null::varchar as technique_b, llm, n_trials,
        {{ numbers({'skewness': 'skewness', 'low_less_high_distance_of_llms': 'asymmetry'}) }}
    from llm_means
),

pairs as (
    select
        of_a.*,
        of_b.technique as technique_b,
        of_b.displacement as displacement_b,
        of_a.n_trials + of_b.n_trials as n_trials_of_both
    from llm_means as of_a
    inner join llm_means as of_b
        on
            {{ same_in('of_a', 'of_b', ['study', 'domain', 'llm', 'temperature_scope']) }}
            and of_a.technique != of_b.technique
    where of_a.displacement is not null and of_b.displacement is not null
),

of_two as (
    select
        study, domain, temperature_scope, technique, technique_b, llm, n_trials_of_both as n_trials,
        {{ numbers({'displacement_difference': 'displacement - displacement_b'}) }}
    from pairs
),

observations as (
    select * exclude (numbers), unnest(numbers) as number
    from (
        select * from of_one
        union all by name
        select * from of_two
    ) as parts
),

means as (
    select
        number.quantity,
        {{ of_pair }}, temperature_scope,
        sum(n_trials)::bigint as n_trials,
        count(*) as n_llms,
        avg(number.value) as value,
        case
            -- where the LLMs do not vary there is nothing to infer from
            when n_llms >= {{ fewest_llms() }} and stddev_samp(number.value) > 1e-9
                then {{ t_quantile_975('(n_llms - 1)') }} * stddev_samp(number.value) / sqrt(n_llms)
        end as half_width
    from observations
    where number.value is not null
    group by all
),

-- the last bits of a mean depend on the order in which LLMs come, and are no difference
bounded as (
    select
        * exclude (half_width, value),
        round(means.value, 9) as value,
        round(means.value - half_width, 9) as low,
        round(means.value + half_width, 9) as high
    from means
),

-- how much more LLMs differ under one technique than under another. Pitman (1939) and Morgan (1939): the same LLMs were
-- asked with both, so the interval of the ratio of variances needs their correlation and has n - 2 degrees of freedom
spreads_of_llms as (
    select
        {{ of_pair }},
        sum(n_trials_of_both)::bigint as n_trials,
        count(*) as n_llms,
        var_samp(displacement) / nullif(var_samp(displacement_b), 0) as ratio,
        1 + 2 * (1 - round(corr(displacement, displacement_b) ** 2, 12))
        * ({{ t_quantile_975('(n_llms - 2)') }}) ** 2 / (n_llms - 2) as factor
    from pairs
    where temperature_scope = 'pooled'
    group by {{ of_pair }}
    having n_llms >= 3
),

ratios as (
    select
        'between_llm_sd_ratio_by_displacement' as quantity,
        {{ of_pair }}, n_trials, n_llms,
        sqrt(ratio) as value,
        {% for bound, sign in [('low', '-'), ('high', '+')] -%}
            case
                when n_llms >= {{ fewest_llms() }} and ratio > 0
                    then sqrt(ratio * (factor {{ sign }} sqrt(factor ** 2 - 1)))
            end as {{ bound }}{{ ',' if not loop.last }}
        {% endfor %}
    from spreads_of_llms
    where ratio is not null
),

-- the ranked techniques in the order of their mean loss; those whose means are the same share a place
in_order as (
    select
        study, domain, technique,
        avg(displacement) as displacement,
        sum(n_trials)::bigint as n_trials,
        count(*) as n_llms,
        dense_rank() over (partition by study, domain order by round(avg(displacement), 9)) as place
    from llm_means
    inner join techniques using (technique)
    where is_ranked and temperature_scope = 'pooled'
    group by study, domain, technique
),

adjacent as (
    select worse.study, worse.domain, worse.technique, better.technique as technique_b
    from in_order as better
    inner join in_order as worse
        on better.study = worse.study and better.domain = worse.domain and better.place + 1 = worse.place
),

ranges as (
    select
        'range_by_displacement' as quantity, study, domain,
        sum(n_trials)::bigint as n_trials,
        min(n_llms) as n_llms,
        max(displacement) - min(displacement) as value
    from in_order
    group by all
),

-- the order at a temperature is another one where one of these pairs stands the other way round: surely where its whole
-- interval does, possibly where its interval does not exclude it
orders as (
    select
        study, domain, temperature_scope,
        sum(n_trials)::bigint as n_trials,
        min(n_llms) as n_llms,
        bool_or(value < 0) as is_otherwise,
        bool_or(coalesce(high < 0, false)) as is_surely,
        bool_or(coalesce(low <= 0, true)) as is_possibly,
        bool_and(low is not null) as is_bounded
    from bounded
    inner join adjacent using (study, domain, technique, technique_b)
    where temperature_scope != 'pooled' and quantity = 'displacement_difference'
    group by study, domain, temperature_scope
),

orders_told as (
    select
        'n_temperatures_ranked_otherwise_by_displacement' as quantity,
        study, domain,
        sum(n_trials)::bigint as n_trials,
        min(n_llms) as n_llms,
        count_if(is_otherwise)::double as value,
        case when bool_and(is_bounded) then count_if(is_surely) end::double as low,
        case when bool_and(is_bounded) then count_if(is_possibly) end::double as high
    from orders
    group by study, domain
),

found as (
    select * exclude (temperature_scope) from bounded
    where temperature_scope = 'pooled'
    union all by name
    select * from ratios
    union all by name
    select * from ranges
    union all by name
    select * from orders_told
)

select quantity, {{ of_pair }}, round(value, 9) as value, round(low, 9) as low, round(high, 9) as high, n_trials, n_llms
from found
