-- noqa: disable=LT02,RF03
-- One row per quantity of the inference tables that a claim can be compared with, its keys and its method, with the
-- bounds of its interval where it has one. A pair of techniques is there in both orders.
{% set of_place %}
    study, domain, technique, llm, anchor_direction, row_set, baseline_scope, weighting, n_trials, n_llms
{%- endset %}
{% set of_fit = "study, domain, row_set, baseline_scope, fit || '_' || estimation as method" %}
with studies as (
    select distinct study from {{ ref('published_claims') }}
),

{% for table in [
    'intervals', 'technique_rankings', 'rank_probabilities', 'contrasts', 'equivalence_tests', 'mixed_effects',
    'variance_components', 'random_effects', 'model_tests', 'power',
] -%}
    {{ table }} as (
        select * from {{ ref(table) }}
        semi join studies using (study)
    ),

{% endfor %}
bounds as (
    select
        intervals_long.* exclude (metric, bound),
        metric || '_' || bound as quantity
    from (
        unpivot (select {{ of_place }}, method, metric, low, high from intervals)
        on low, high
        into name bound value value
    ) as intervals_long
),

-- how much closer to the baseline answers under a high anchor are than under a low one
asymmetries as (
    select
        'low_less_high_distance' as quantity,
        study,
        domain,
        technique,
        row_set,
        baseline_scope,
        weighting,
        any_value(abs(estimate)) filter (where anchor_direction = 'low')
        - any_value(abs(estimate)) filter (where anchor_direction = 'high') as value,
        sum(n_trials) filter (where anchor_direction in ('low', 'high'))::bigint as n_trials,
        any_value(n_llms) as n_llms
    from intervals
    where metric = 'deviation_pp' and method = 'headline' and llm is null
    group by all
),

ranks as (
    select study, domain, llm, technique, replace(rank_name, 'rank_by_', '') as metric, place::double as place
    from (
        unpivot technique_rankings
        on rank_by_deviation, rank_by_susceptibility, rank_by_madb
        into name rank_name value place
    )
),

places as (
    select
        probabilities.*,
        ranks.place,
        'accepted' as row_set,
        'pooled' as baseline_scope,
        'both' as anchor_direction
    from rank_probabilities as probabilities
    left join ranks
        on
            probabilities.study = ranks.study
            and probabilities.domain = ranks.domain
            and probabilities.llm is not distinct from ranks.llm
            and probabilities.technique = ranks.technique
            and probabilities.metric = ranks.metric
            and probabilities.weighting = 'llm'
),

place_quantities as (
    select {{ of_place }}, 'place_by_' || metric as quantity, place as value, rank_low as low, rank_high as high
    from places
    union all by name
    select {{ of_place }}, 'gain_by_' || metric as quantity, gain as value, gain_low as low, gain_high as high
    from places
    union all by name
    select {{ of_place }}, 'nothing_beats_no_technique_by_' || metric as quantity, p_best as value from places
    where technique = 'no_technique'
    union all by name
    select
        {{ of_place | replace('technique', 'null as technique') }},
        'metrics_disagree' as quantity,
        p_metrics_disagree as value
    from places
    where technique = 'no_technique' and metric = 'deviation'
),

compared as (
    select * from contrasts
    where family in ('pairs', 'against_no_technique', 'own_first_answer')
),

contrasts_in_both_orders as (
    select * exclude (method), level as method, technique_a as technique from compared
    union all by name
    select
        * exclude (method, technique_b) replace (
            -difference as difference, -high as low, -low as high,
            -cohens_d as cohens_d, -cohens_d_high as cohens_d_low, -cohens_d_low as cohens_d_high
        ),
        level as method,
        technique_b as technique,
        technique_a as technique_b
    from compared
),

contrast_quantities as (
    {% for quantity, low, high in [
        ('difference', 'low', 'high'), ('cohens_d', 'cohens_d_low', 'cohens_d_high'), ('p_value', 'null', 'null'),
        ('p_bonferroni', 'null', 'null'),
    ] -%}
        select
            metric || '_{{ quantity }}' as quantity,
            study,
            domain,
            technique,
            technique_b,
            anchor_direction,
            row_set,
            baseline_scope,
            method,
            {{ quantity }} as value,
            {{ low }}::double as low,
            {{ high }}::double as high,
            n_trials,
            n_llms
        from contrasts_in_both_orders
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

families as (
    select
        study,
        domain,
        row_set,
        baseline_scope,
        level as method,
        any_value(n_tests)::double as n_comparisons,
        0.05 / any_value(n_tests) as bonferroni_alpha
    from compared
    where family = 'pairs' and metric = 'percent_of_baseline' and anchor_direction = 'both'
    group by all
),

equivalences as (
    select
        *,
        abs(difference) as distance,
        case when low_90 * high_90 < 0 then 0 else least(abs(low_90), abs(high_90)) end as low,
        greatest(abs(low_90), abs(high_90)) as high
    from equivalence_tests
    -- of a spread against 0 the test that knows the noise of the baseline
    where technique_b is not null or level = 'llm' or method like '%delta_with_baseline%'
),

equivalences_in_both_orders as (
    select *, technique_a as technique from equivalences
    union all by name
    select * exclude (technique_b), technique_b as technique, technique_a as technique_b from equivalences
    where technique_b is not null
),

equivalence_quantities as (
    {% for quantity, value, low, high in [
        ("'absolute_' || metric || '_difference'", 'distance', 'low', 'high'),
        ("'tost_p_value'", 'p_value', 'null', 'null'),
        ("'smallest_margin_pp'", 'smallest_margin_pp', 'null', 'null'),
    ] -%}
        select
            {{ quantity }} as quantity,
            study,
            domain,
            technique,
            technique_b,
            'both' as anchor_direction,
            row_set,
            baseline_scope,
            level as method,
            {{ value }} as value,
            {{ low }}::double as low,
            {{ high }}::double as high,
            n_trials,
            n_llms
        from equivalences_in_both_orders
        where {{ quantity }} != 'tost_p_value' or technique_b is not null
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

fixed_effects as (
    select
        {{ of_fit }},
        split_part(term, ':', 1) || '_effect' as quantity,
        nullif(split_part(term, ':', 2), '') as technique,
        estimate as value,
        low,
        high,
        n_trials,
        n_llms
    from mixed_effects
),

fits as (
    select
        study,
        domain,
        row_set,
        baseline_scope,
        method,
        any_value(n_trials) as n_trials,
        any_value(n_llms)::double as n_llms_of_fit,
        count(*) filter (where quantity = 'mean_effect')::double as n_techniques_of_fit
    from fixed_effects
    group by all
),

variances as (
    select
        {{ of_fit }},
        split_part(component, ':', 1) as part,
        nullif(split_part(component, ':', 2), '') as technique,
        variance,
        sd,
        icc,
        residual_reduction_percent,
        n_trials,
        n_llms
    from variance_components
),

variance_quantities as (
    {% for quantity, value, parts in [
        ("'variance_' || part", 'variance', 'true'), ("part || '_sd'", 'sd', 'true'), ("'icc'", 'icc', "part = 'llm'"),
        ("'icc_percent'", '100 * icc', "part = 'llm'"),
        ("'residual_reduction_percent'", 'residual_reduction_percent', "part = 'residual'"),
    ] -%}
        select
            {{ quantity }} as quantity,
            study,
            domain,
            row_set,
            baseline_scope,
            method,
            technique,
            {{ value }} as value,
            n_trials,
            n_llms
        from variances
        where {{ parts }}
        {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

-- means of LLMs under a technique, less the mean of the technique: of one technique, and (null) of any
slopes as (
    select
        {{ of_fit }},
        unnest([split_part(term, ':', 2), null]) as technique,
        estimate,
        observed,
        n_trials,
        llm
    from random_effects
    where term like 'slope:%'
),

slopes_summarised as (
    select
        study,
        domain,
        row_set,
        baseline_scope,
        method,
        technique,
        max(estimate) as slope_highest,
        min(estimate) as slope_lowest,
        max(observed) as observed_slope_highest,
        min(observed) as observed_slope_lowest,
        stddev_samp(observed) as observed_slope_sd,
        sum(n_trials)::bigint as n_trials,
        count(distinct llm) as n_llms
    from slopes
    group by all
),

tests as (
    select
        case
            when method = 'likelihood_ratio_least_squares' then 'technique_by_llm'
            when test = 'likelihood_ratio' then fit_b
            when term = 'technique x temperature' then 'temperature_interaction'
            when term = 'technique x direction' then 'interaction'
        end as tested,
        study,
        domain,
        row_set,
        baseline_scope,
        method,
        technique_a as technique,
        technique_b,
        case when test = 'likelihood_ratio' then statistic end as chi2,
        case when test = 'likelihood_ratio' then df1 end as df,
        case when test != 'likelihood_ratio' then statistic end as f,
        case when test != 'likelihood_ratio' then df1 end as df1,
        df2,
        p_value as p,
        case when method = 'likelihood_ratio_least_squares' then 100 * partial_eta_squared end as reduction_percent,
        n_trials,
        n_llms
    from model_tests
    where tested is not null
),

test_quantities as (
    select tests_long.* exclude (tested, part), tested || '_' || part as quantity
    from (
        unpivot tests
        on chi2, df, f, df1, df2, p, reduction_percent
        into name part value value
    ) as tests_long
),

tests_over_pairs as (
    select
        study,
        domain,
        row_set,
        baseline_scope,
        method,
        max(f) as temperature_interaction_f_highest,
        min(p) as temperature_interaction_p_lowest,
        max(n_trials) as n_trials,
        max(n_llms) as n_llms
    from tests
    where tested = 'temperature_interaction'
    group by all
),

power_quantities as (
    select
        study,
        domain,
        row_set,
        baseline_scope,
        level as method,
        max(effect) as detectable_d
    from power
    where design = 'observed' and level = 'trial' and quantity = 'effect'
    group by all
),

powers_at_published_d as (
    select
        study,
        domain,
        technique_a as technique,
        technique_b,
        row_set,
        baseline_scope,
        level as method,
        max(100 * power) filter (where quantity = 'power') as power_percent_at_published_d,
        max(needed_trials) filter (where quantity = 'needed_trials')::double as needed_trials_at_published_d,
        any_value(n_trials) as n_trials,
        any_value(n_llms) as n_llms
    from power
    where design = 'published'
    group by all
),

together as (
    {% for part in [
        'bounds', 'asymmetries', 'place_quantities', 'contrast_quantities', 'equivalence_quantities', 'fixed_effects',
        'variance_quantities', 'test_quantities',
    ] -%}
        select * from {{ part }}
        union all by name
    {% endfor %}
    {% for part, quantities in {
        'families': 'n_comparisons, bonferroni_alpha',
        'fits': 'n_llms_of_fit, n_techniques_of_fit',
        'slopes_summarised': 'slope_highest, slope_lowest, observed_slope_highest, observed_slope_lowest, observed_slope_sd',
        'tests_over_pairs': 'temperature_interaction_f_highest, temperature_interaction_p_lowest',
        'power_quantities': 'detectable_d',
        'powers_at_published_d': 'power_percent_at_published_d, needed_trials_at_published_d',
    }.items() -%}
        select * from (unpivot {{ part }} on {{ quantities }} into name quantity value value)
        {% if not loop.last %}union all by name{% endif %}
    {% endfor %}
)

select
    quantity,
    study,
    domain,
    technique,
    technique_b,
    llm,
    anchor_direction,
    row_set,
    baseline_scope,
    weighting,
    method,
    value,
    low,
    high,
    n_trials,
    n_llms
from together
where value is not null
