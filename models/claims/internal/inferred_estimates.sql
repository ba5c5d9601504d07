-- noqa: disable=LT02,RF03
-- One row per quantity of the inference tables that a claim can be compared with, its keys and its method, with the
-- bounds of its interval where it has one. A pair of techniques is there in both orders.
{% set of_study = 'study, domain, row_set, baseline_scope' %}
{% set of_place = of_study ~ ', llm, anchor_direction, weighting, n_trials, n_llms' %}
{% set of_pair = of_study ~ ', technique, technique_b, anchor_direction, level as method, n_trials, n_llms' %}
{% set of_fit = of_study ~ ", fit || '_' || estimation as method" %}
with studies as (
    select distinct study from {{ ref('int_claim_specifications') }}
),

{% for table in [
    'intervals', 'effects', 'decisions', 'contrasts', 'equivalence_tests', 'mixed_effects',
    'variance_components', 'random_effects', 'model_tests', 'power',
] -%}
    {{ table }} as (
        select * from {{ ref(table) }}
        semi join studies using (study)
    ),

{% endfor %}
bounds as (
    select {{ of_place }}, technique, method, {{ numbers({'{metric}_low': 'low', '{metric}_high': 'high'}) }}
    from intervals
),

-- how far the answers of one LLM are from its baseline, under a low and a high anchor; the interval of a mean is no
-- wider than the mean of the intervals, however their errors depend on each other
displacements as (
    select
        {{ of_study }}, technique, llm, 'both' as anchor_direction, weighting,
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
    where
        metric = 'deviation_pp' and method = 'headline' and llm is not null and anchor_direction in ('low', 'high')
        and low is not null
    group by all
    having count(*) = 2
),

probabilities as (
    select
        *,
        'accepted' as row_set,
        'pooled' as baseline_scope,
        'both' as anchor_direction,
        'llm' as weighting,
        -- over too few LLMs what their trials say of those that were asked
        llm is not null or contains(coalesce(reason, ''), 'too_few_llms') as is_of_asked,
        case when is_of_asked then gain_asked_low else gain_low end as low_gain,
        case when is_of_asked then gain_asked_high else gain_high end as high_gain,
        -- as sure as a decision is, which the ranked techniques of a domain share
        1 - (1 - confidence) / 2 / max(n_comparisons) filter (where comparison = 'control') over one_goal as level
    from decisions
    where paradigm = 'anchoring'
    window one_goal as (partition by study, domain, llm, goal)
),

placed as (
    select
        probabilities.*,
        effects.rank as place,
        effects.rank_with_no_technique
    from probabilities
    left join effects
        on
            {{ same_in('probabilities', 'effects', question_keys() + ['llm', 'technique']) }}
            and effects.vignette is null
),

of_ranked as (
    select *, count(*) over (partition by study, domain, llm, goal) as n_places from placed
    where comparison = 'control'
),

goal_places as (
    select
        {{ of_place }}, technique,
        -- over too few LLMs any place is possible; the place by loss always is, whatever gains are held against
        {{ numbers({
            'place_by_{goal}': (
                'place', 'least(coalesce(rank_low, 1), place)', 'greatest(coalesce(rank_high, n_places), place)',
            ),
        }) }}
    from of_ranked
),

goal_gains as (
    select {{ of_place }}, technique, {{ numbers({'gain_by_{goal}': ('gain', 'low_gain', 'high_gain')}) }}
    from probabilities
    where control = 'no_technique'
),

own_gains as (
    select
        {{ of_place }}, technique,
        {{ numbers({'gain_on_own_control_by_{goal}': ('gain', 'low_gain', 'high_gain')}) }}
    from probabilities
    where comparison = 'control'
),

-- whether doing nothing comes first: 1 or 0, and as its bounds which of the two its probability does not rule out
goal_bests as (
    select
        {{ of_place }}, technique,
        {{ numbers({
            'nothing_beats_no_technique_by_displacement': (
                'rank_with_no_technique = 1',
                'case when p_best is not null then (p_best >= level)::integer end',
                'case when p_best is not null then (p_best > 1 - level)::integer end',
            ),
        }) }}
    from placed
    where technique = 'no_technique' and control is null and goal = 'displacement'
),

firsts as (
    select
        {{ of_study }}, llm, anchor_direction, weighting, technique,
        any_value(n_trials) as n_trials,
        any_value(n_llms) as n_llms,
        any_value(level) as level,
        any_value(place) filter (where goal = 'displacement') as place_by_displacement,
        any_value(place) filter (where goal = 'gap') as place_by_gap,
        any_value(p_best) filter (where goal = 'displacement') as p_displacement,
        any_value(p_best) filter (where goal = 'gap') as p_gap
    from of_ranked
    group by all
),

-- that no technique is first by both goals is at least and at most so probable, however the two depend on each other
disagreements as (
    select
        {{ of_study }}, llm, anchor_direction, weighting,
        sum(n_trials)::bigint as n_trials,
        max(n_llms) as n_llms,
        any_value(level) as level,
        bool_or(place_by_displacement = 1 and place_by_gap = 1) as has_one_winner,
        1 - sum(least(p_displacement, p_gap)) as least_probable,
        1 - sum(greatest(p_displacement + p_gap - 1, 0)) as most_probable
    from firsts
    group by all
),

goal_disagreements as (
    select
        *,
        {{ numbers({
            'goals_disagree': (
                'not has_one_winner',
                'case when least_probable is not null then (least_probable >= level)::integer end',
                'case when least_probable is not null then (most_probable > 1 - level)::integer end',
            ),
        }) }}
    from disagreements
),

compared as (
    select *, technique_a as technique from contrasts
    where family in ('pairs', 'against_no_technique', 'own_first_answer') and is_recommended
),

compared_in_both_orders as (
    select * from compared
    union all by name
    select
        * replace (
            technique_b as technique, technique as technique_b, -difference as difference, -high as low, -low as high,
            -cohens_d as cohens_d, -cohens_d_high as cohens_d_low, -cohens_d_low as cohens_d_high
        )
    from compared
),

differences as (
    select
        {{ of_pair }},
        {{ numbers({
            '{metric}_difference': ('difference', 'low', 'high'),
            '{metric}_cohens_d': ('cohens_d', 'cohens_d_low', 'cohens_d_high'),
            '{metric}_p_value': 'p_value',
            '{metric}_p_bonferroni': 'p_bonferroni',
        }) }}
    from compared_in_both_orders
),

families as (
    select
        {{ of_study }}, level as method,
        {{ numbers({'n_comparisons': 'any_value(n_tests)', 'bonferroni_alpha': '0.05 / any_value(n_tests)'}) }}
    from compared
    where family = 'pairs' and metric = 'percent_of_baseline' and anchor_direction = 'both'
    group by all
),

equivalences as (
    select *, technique_a as technique, 'both' as anchor_direction from equivalence_tests
    -- of a spread against 0 the test that knows the noise of the baseline
    where technique_b is not null or level = 'llm' or method like '%delta_with_baseline%'
),

equivalences_in_both_orders as (
    select * from equivalences
    union all by name
    select * replace (technique_b as technique, technique as technique_b) from equivalences
    where technique_b is not null
),

distances as (
    select
        {{ of_pair }},
        {{ numbers({
            'absolute_{metric}_difference': (
                'abs(difference)', least_distance('low_90', 'high_90'), 'greatest(abs(low_90), abs(high_90))',
            ),
            'tost_p_value': 'case when technique_b is not null then p_value end',
            'smallest_margin_pp': 'smallest_margin_pp',
        }) }}
    from equivalences_in_both_orders
),

fixed_effects as (
    select
        {{ of_fit }}, n_trials, n_llms,
        split_part(term, ':', 1) as part,
        nullif(split_part(term, ':', 2), '') as technique,
        {{ numbers({'{part}_effect': ('estimate', 'low', 'high')}) }}
    from mixed_effects
),

-- n_cells_less_margins: pairs of LLM and technique, less LLMs and techniques
fits as (
    select
        {{ of_fit }}, any_value(n_trials) as n_trials,
        {{ numbers({
            'n_llms_of_fit': 'any_value(n_llms)',
            'n_techniques_of_fit': "count(*) filter (where term like 'mean:%')",
            'n_cells_less_margins_of_fit': (
                "(any_value(n_llms) - 1) * (count(*) filter (where term like 'mean:%') - 1) - 1"
            ),
        }) }}
    from mixed_effects
    group by all
),

variances as (
    select
        {{ of_fit }}, n_trials, n_llms,
        split_part(component, ':', 1) as part,
        nullif(split_part(component, ':', 2), '') as technique,
        {{ numbers({
            'variance_{part}': 'variance',
            '{part}_sd': 'sd',
            'icc': "case when part = 'llm' then icc end",
            'icc_percent': "case when part = 'llm' then 100 * icc end",
            'residual_reduction_percent': "case when part = 'residual' then residual_reduction_percent end",
        }) }}
    from variance_components
),

-- means of LLMs under a technique, less the mean of the technique: of one technique, and (null) of any
slopes as (
    select *, unnest([split_part(term, ':', 2), null]) as technique from random_effects
    where term like 'slope:%'
),

extreme_slopes as (
    select
        {{ of_fit }}, technique, sum(n_trials)::bigint as n_trials, count(distinct llm) as n_llms,
        {{ numbers({
            'slope_highest': 'max(estimate)',
            'slope_lowest': 'min(estimate)',
            'observed_slope_highest': 'max(observed)',
            'observed_slope_lowest': 'min(observed)',
            'observed_slope_sd': 'stddev_samp(observed)',
        }) }}
    from slopes
    group by all
),

tests as (
    select
        *,
        technique_a as technique,
        case
            when method = 'likelihood_ratio_least_squares' then 'technique_by_llm'
            when test = 'likelihood_ratio' then fit_b
            when term = 'technique x temperature' then 'temperature_interaction'
            when term = 'technique x direction' then 'interaction'
        end as tested
    from model_tests
    where tested is not null
),

test_results as (
    select
        {{ of_study }}, technique, technique_b, method, n_trials, n_llms,
        {{ numbers({
            '{tested}_chi2': "case when test = 'likelihood_ratio' then statistic end",
            '{tested}_df': "case when test = 'likelihood_ratio' then df1 end",
            '{tested}_f': "case when test != 'likelihood_ratio' then statistic end",
            '{tested}_df1': "case when test != 'likelihood_ratio' then df1 end",
            '{tested}_df2': 'df2',
            '{tested}_p': 'p_value',
            '{tested}_reduction_percent':
                "case when method = 'likelihood_ratio_least_squares' then 100 * partial_eta_squared end",
        }) }}
    from tests
),

tests_over_pairs as (
    select
        {{ of_study }}, method, max(n_trials) as n_trials, max(n_llms) as n_llms,
        {{ numbers({
            'temperature_interaction_f_highest': 'max(statistic)', 'temperature_interaction_p_lowest': 'min(p_value)',
        }) }}
    from tests
    where tested = 'temperature_interaction'
    group by all
),

detectable as (
    select {{ of_study }}, level as method, {{ numbers({'detectable_d': 'max(effect)'}) }}
    from power
    where design = 'observed' and level = 'trial' and quantity = 'effect'
    group by all
),

at_published_d as (
    select
        {{ of_study }}, technique_a as technique, technique_b, level as method,
        any_value(n_trials) as n_trials, any_value(n_llms) as n_llms,
        {{ numbers({
            'power_percent_at_published_d': "max(100 * power) filter (where quantity = 'power')",
            'needed_trials_at_published_d': "max(needed_trials) filter (where quantity = 'needed_trials')",
        }) }}
    from power
    where design = 'published'
    group by all
),

together as (
    {% for part in [
        'bounds', 'displacements', 'goal_places', 'goal_gains', 'own_gains', 'goal_bests',
        'goal_disagreements', 'differences', 'families', 'distances', 'fixed_effects',
        'fits', 'variances', 'extreme_slopes', 'test_results', 'tests_over_pairs', 'detectable', 'at_published_d',
    ] -%}
        select * from {{ part }}
        {{ 'union all by name' if not loop.last }}
    {% endfor %}
),

estimates as (
    select *, unnest(numbers) as number from together
)

select
    number.quantity, study, domain, technique, technique_b, llm, anchor_direction, row_set, baseline_scope, weighting,
    method, number.value, number.low, number.high, n_trials, n_llms
from estimates
where number.value is not null
