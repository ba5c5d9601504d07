-- noqa: disable=LT02,RF03
-- One row per quantity, study, domain, technique, second technique, llm (null = all) and anchor direction: what the
-- recommended analysis says, with its interval. Over LLMs, each is one observation.
{% set of_pair = 'study, domain, technique, technique_b' %}
{% set of_place = 'study, domain, llm, n_trials, n_llms' %}
with techniques as (
    select * from {{ ref('techniques') }}
),

studies as (
    select distinct study from {{ ref('int_claim_specifications') }}
),

-- over fewer LLMs than an interval over LLMs needs, that of their trials
intervals as (
    select * from {{ ref('intervals') }}
    semi join studies using (study)
    where
        row_set = 'accepted' and baseline_scope = 'pooled' and weighting = 'llm'
        and method = case when llm is null and n_llms < {{ fewest_llms() }} then 'trial' else 'headline' end
),

losses as (
    select study, vignette, technique, llm from {{ ref('effects') }}
    where
        paradigm = 'anchoring' and goal = 'displacement' and vignette is not null and loss is not null
        and not contains(coalesce(reason, ''), 'baseline_below_10')
),

conditions as (
    select
        study, domain, vignette, technique, llm, temperature_scope,
        any_value(n_trials) filter (where anchor_direction = 'both') as n_trials,
        any_value(skewness) filter (where anchor_direction = 'both') as skewness,
        any_value(abs(deviation_pp)) filter (where anchor_direction = 'low') as low_distance,
        any_value(abs(deviation_pp)) filter (where anchor_direction = 'high') as high_distance
    from {{ ref('technique_effects') }}
    semi join studies using (study)
    semi join losses using (study, vignette, technique, llm)
    where row_set = 'accepted' and baseline_scope = 'pooled' and weighting = 'llm'
    group by all
),

-- of too few vendors nothing is said of others
bounded as (
    select *, llm is not null or n_vendors >= {{ fewest_llms() }} as has_bounds from {{ ref('decisions') }}
),

decided as (
    select
        decisions.*,
        effects.rank as place,
        effects.rank_with_no_technique as place_with_none,
        effects.n_trials as n_trials_of_place,
        effects.n_llms as n_llms_of_place,
        case when has_bounds then gain_low end as low,
        case when has_bounds then gain_high end as high,
        comparison = 'control' as is_control,
        control = 'no_technique' and gain is not null as is_on_none,
        decisions.technique = 'no_technique' and control is null as is_none
    from bounded as decisions
    semi join studies using (study)
    left join {{ ref('effects') }} as effects
        on
            {{ same_in('decisions', 'effects', question_keys() + ['llm', 'technique']) }}
            and effects.vignette is null
    where decisions.paradigm = 'anchoring'
),

headlines as (
    select
        study, domain, technique, llm, anchor_direction, n_trials, n_llms,
        {{ numbers({
            '{metric}': ('estimate', 'low', 'high'),
            'absolute_{metric}': ('abs(estimate)', least_distance('low', 'high'), 'greatest(abs(low), abs(high))'),
        }) }}
    from intervals
),

-- how far the answers of one LLM are from its baseline, under a low and a high anchor; the interval of a mean is no
-- wider than the mean of the intervals, however their errors depend on each other
displacements as (
    select
        study, domain, technique, llm,
        sum(n_trials)::bigint as n_trials,
        max(n_llms) as n_llms,
        {{ numbers({
            'displacement': (
                'avg(abs(estimate))',
                'avg(' ~ least_distance('low', 'high') ~ ')',
                'avg(greatest(abs(low), abs(high)))',
            ),
        }) }}
    from intervals
    where metric = 'deviation_pp' and llm is not null and anchor_direction in ('low', 'high') and low is not null
    group by all
    having count(*) = 2
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

pairs as (
    select
        of_a.* replace (of_a.n_trials + of_b.n_trials as n_trials),
        of_b.technique as technique_b,
        of_b.displacement as displacement_b
    from llm_means as of_a
    inner join llm_means as of_b using (study, domain, llm, temperature_scope)
    where of_a.technique != of_b.technique and of_a.displacement is not null and of_b.displacement is not null
),

observed as (
    select *, {{ numbers({'skewness': 'skewness', 'low_less_high_distance_of_llms': 'asymmetry'}) }} from llm_means
    union all by name
    select *, {{ numbers({'displacement_difference': 'displacement - displacement_b'}) }} from pairs
),

-- where the LLMs do not vary there is nothing to infer from; the last bits of a mean depend on the order of LLMs, and
-- are no difference
means as (
    select
        number.quantity, {{ of_pair }}, temperature_scope,
        sum(n_trials)::bigint as n_trials,
        count(*) as n_llms,
        avg(number.value) as mean,
        stddev_samp(number.value) as sd
    from (select * exclude (numbers), unnest(numbers) as number from observed) as each_llm
    where number.value is not null
    group by all
),

means_bounded as (
    select
        *,
        case
            when n_llms >= {{ fewest_llms() }} and sd > 1e-9
                then {{ t_quantile_975('(n_llms - 1)') }} * sd / sqrt(n_llms)
        end as half_width
    from means
),

-- how much more LLMs differ under one technique than under another. Pitman (1939) and Morgan (1939): the same LLMs were
-- asked with both, so the interval of the ratio of variances needs their correlation and has n - 2 degrees of freedom
spreads_of_llms as (
    select
        {{ of_pair }},
        sum(n_trials)::bigint as n_trials,
        count(*) as n_llms,
        var_samp(displacement) / nullif(var_samp(displacement_b), 0) as ratio,
        case when n_llms >= {{ fewest_llms() }} and ratio > 0 then
            1 + 2 * (1 - round(corr(displacement, displacement_b) ** 2, 12))
            * ({{ t_quantile_975('(n_llms - 2)') }}) ** 2 / (n_llms - 2)
        end as factor
    from pairs
    where temperature_scope = 'pooled'
    group by {{ of_pair }}
    having n_llms >= 3
),

ratios as (
    select
        *,
        {{ numbers({
            'between_llm_sd_ratio_by_displacement': (
                'round(sqrt(ratio), 9)',
                'round(sqrt(ratio * (factor - sqrt(factor ** 2 - 1))), 9)',
                'round(sqrt(ratio * (factor + sqrt(factor ** 2 - 1))), 9)',
            ),
        }) }}
    from spreads_of_llms
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

ranges as (
    select
        study, domain,
        sum(n_trials)::bigint as n_trials,
        min(n_llms) as n_llms,
        {{ numbers({'range_by_displacement': 'round(max(displacement) - min(displacement), 9)'}) }}
    from in_order
    group by all
),

-- the order at a temperature is another one where one of two neighbours stands the other way round: surely where its
-- whole interval does, possibly where its interval does not exclude it
orders as (
    select
        study, domain, temperature_scope,
        sum(means_bounded.n_trials)::bigint as n_trials,
        min(means_bounded.n_llms) as n_llms,
        bool_or(round(mean, 9) < 0) as is_otherwise,
        bool_or(coalesce(round(mean + half_width, 9) < 0, false)) as is_surely,
        bool_or(coalesce(round(mean - half_width, 9) <= 0, true)) as is_possibly,
        bool_and(half_width is not null) as is_bounded
    from means_bounded
    inner join in_order as worse using (study, domain, technique)
    inner join in_order as better using (study, domain)
    where
        temperature_scope != 'pooled' and quantity = 'displacement_difference'
        and technique_b = better.technique and better.place + 1 = worse.place
    group by study, domain, temperature_scope
),

orders_told as (
    select
        study, domain,
        sum(n_trials)::bigint as n_trials,
        min(n_llms) as n_llms,
        {{ numbers({
            'n_temperatures_ranked_otherwise_by_displacement': (
                'count_if(is_otherwise)',
                'case when bool_and(is_bounded) then count_if(is_surely) end',
                'case when bool_and(is_bounded) then count_if(is_possibly) end',
            ),
        }) }}
    from orders
    group by study, domain
),

-- as sure as a decision is, which the ranked techniques of a domain share; over too few LLMs any place is possible, and
-- the place by loss always is, whatever gains compare with. Ranks count no technique as one, so that without it the
-- first place may be one better
placed as (
    select
        *,
        1 - (1 - confidence) / 2 / max(n_comparisons) filter (where is_control) over one_goal as level,
        count(*) filter (where is_control) over one_goal as n_placed,
        least(greatest(coalesce(rank_low - 1, 1), 1), place) as first_place,
        greatest(least(coalesce(rank_high, n_placed), n_placed), place) as last_place,
        least(coalesce(rank_low, 1), place_with_none) as first_with_none,
        greatest(coalesce(rank_high, n_placed + 1), place_with_none) as last_with_none
    from decided
    window one_goal as (partition by study, domain, llm, goal)
),

-- that nothing, no technique included, is first by both goals is at least and at most so probable, however the two
-- depend on each other
goals as (
    select
        by_displacement.study, by_displacement.domain, by_displacement.llm,
        sum(by_displacement.n_trials)::bigint as n_trials,
        max(by_displacement.n_llms) as n_llms,
        any_value(by_displacement.level) as level,
        not bool_or(by_displacement.place_with_none = 1 and by_gap.place_with_none = 1) as is_so,
        1 - sum(least(by_displacement.p_best, by_gap.p_best)) as least_probable,
        1 - sum(greatest(by_displacement.p_best + by_gap.p_best - 1, 0)) as most_probable
    from placed as by_displacement
    inner join placed as by_gap
        on
            {{ same_in('by_displacement', 'by_gap', ['study', 'domain', 'technique', 'comparison']) }}
    where
        (by_displacement.is_control or by_displacement.is_none) and by_displacement.llm is not distinct from by_gap.llm
        and by_displacement.goal = 'displacement' and by_gap.goal = 'gap'
    group by by_displacement.study, by_displacement.domain, by_displacement.llm
),

together as (
    {% for part in ['headlines', 'displacements', 'ratios', 'ranges', 'orders_told'] -%}
        select * from {{ part }}
        union all by name
    {% endfor -%}
    select
        *,
        {{ numbers({
            '{quantity}': ('round(mean, 9)', 'round(mean - half_width, 9)', 'round(mean + half_width, 9)'),
        }) }}
    from means_bounded
    where temperature_scope = 'pooled'
    union all by name
    select
        {{ of_place }}, technique,
        {{ numbers({
            'place_by_{goal}': ('place', 'first_place', 'last_place'),
            'gain_on_own_control_by_{goal}': ('gain', 'low', 'high'),
        }) }}
    from placed
    where is_control
    union all by name
    select {{ of_place }}, technique, {{ numbers({'gain_by_{goal}': ('gain', 'low', 'high')}) }} from placed
    where is_on_none
    union all by name
    select
        study, domain, technique, llm, n_trials_of_place as n_trials, coalesce(n_llms_of_place, n_llms) as n_llms,
        {{ numbers({
            'rank_by_{goal}': ('place', 'first_place', 'last_place'),
            'rank_by_{goal}_with_no_technique': (
                'place_with_none', 'first_with_none', 'last_with_none',
            ),
        }) }}
    from placed
    where is_control or is_none
    -- whether doing nothing comes first: 1 or 0, and as its bounds which of the two its probability does not rule out
    union all by name
    select
        {{ of_place }}, technique,
        {{ numbers({
            'nothing_beats_no_technique_by_displacement': (
                'place_with_none = 1', '(p_best >= level)::integer', '(p_best > 1 - level)::integer',
            ),
        }) }}
    from placed
    where is_none and goal = 'displacement'
    union all by name
    select
        {{ of_place }},
        {{ numbers({
            'goals_disagree': (
                'is_so',
                '(least_probable >= level)::integer',
                'case when least_probable is not null then (most_probable > 1 - level)::integer end',
            ),
        }) }}
    from goals
),

estimates as (
    select * exclude (numbers), unnest(numbers) as number from together
)

select
    number.quantity, {{ of_pair }}, llm, coalesce(anchor_direction, 'both') as anchor_direction,
    'pooled' as temperature_scope, {{ as_recommended() }},
    number.value, number.low, number.high, n_trials, n_llms
from estimates
where number.value is not null
