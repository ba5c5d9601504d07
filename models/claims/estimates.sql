-- noqa: disable=LT02
-- One row per quantity, its keys and its specification: every number that a claim can be compared with, in one column.
with asked as (
    select * from {{ ref('int_claim_specifications') }}
),

techniques as (
    select technique, is_ranked from {{ ref('techniques') }}
),

llms as (
    select llm, provider from {{ ref('llms') }}
),

technique_effects as (
    select * from {{ ref('technique_effects') }}
    semi join asked using (study, domain, temperature_scope, row_set, baseline_scope, weighting)
),

llm_baselines as (
    select * exclude (n_trials) from {{ ref('int_baselines_summarised') }}
),

responses as (
    select
        * exclude (anchor_direction),
        anchor_direction as of_direction,
        unnest(case when has_all_answers then ['final', 'both'] else ['final'] end) as non_null
    from {{ ref('int_responses_counted') }}
    where technique != 'sacd_initial'
),

iterated_trials as (
    select *, unnest(['as_recorded', 'accepted']) as row_set from {{ ref('int_trials_directed') }}
    where iterations is not null
),

inferred as (
    select *, {{ numbers({'{quantity}': ('value', 'low', 'high')}) }} from {{ ref('inferred_estimates') }}
),

comparisons as (
    select *, {{ numbers({'{quantity}': 'value'}) }} from {{ ref('int_claim_comparisons') }}
),

over_llms as (
    select
        *,
        'both' as anchor_direction,
        'pooled' as temperature_scope,
        {% for column, value in recommended_specification().items() -%}
            '{{ value }}' as {{ column }},
        {% endfor -%}
        {{ numbers({'{quantity}': ('value', 'low', 'high')}) }}
    from {{ ref('int_claims_over_llms') }}
),

shares_below_baseline as (
    select * from {{ ref('int_shares_below_baseline') }}
),

-- over fewer LLMs than an interval over LLMs needs, that of their trials
intervals as (
    select * from {{ ref('intervals') }}
    where
        row_set = 'accepted' and baseline_scope = 'pooled' and weighting = 'llm'
        and method = case when llm is null and n_llms < {{ fewest_llms() }} then 'trial' else 'headline' end
),

rank_probabilities as (
    select * from {{ ref('rank_probabilities') }}
    where comparison = 'control' and rank_low is not null
),

effects as (
    select
        *,
        abs(deviation_pp) as absolute_deviation_pp,
        {{ numbers([
            'percent_of_baseline', 'deviation_pp', 'absolute_deviation_pp', 'deviation', 'mean_response', 'spread',
            'spread_pp', 'spread_change_percent', 'rank_by_deviation', 'rank_by_deviation_in_units',
            'rank_by_susceptibility', 'rank_by_deviation_with_no_technique',
        ]) }}
    from {{ ref('int_claim_effects') }}
),

rankings as (
    select
        *,
        'both' as anchor_direction,
        'pooled' as temperature_scope,
        {% for column, value in recommended_specification().items() -%}
            '{{ value }}' as {{ column }},
        {% endfor -%}
        {{ numbers([
            'rank_by_displacement', 'rank_by_gap', 'rank_by_error', 'rank_by_displacement_with_no_technique',
        ]) }}
    from {{ ref('technique_rankings') }}
    semi join asked using (study)
),

-- what a claim with a whole specification is held against has the recommended one
recommended as (
    select
        * exclude (row_set, baseline_scope, weighting),
        'pooled' as temperature_scope,
        {% for column, value in recommended_specification().items() -%}
            '{{ value }}' as {{ column }}{{ ',' if not loop.last }}
        {% endfor -%}
    from inferred
    where
        row_set = 'accepted' and baseline_scope = 'pooled' and coalesce(weighting, 'llm') = 'llm'
        and regexp_matches(
            quantity, '^displacement$|_by_(displacement|gap|error)$|^goals_disagree$|^absolute_.*_difference$'
        )
),

distributions as (
    select
        * exclude (is_ranked),
        'trial' as direction_weighting,
        'llm' as baseline_pooling,
        'mean_of_ratios' as estimator,
        'final' as non_null,
        case when is_ranked then rank() over within_ranked end as rank_by_share_within_10_percent,
        {{ numbers({
            'median_percent_of_baseline': 'median_percent_of_baseline',
            'sd_percent_of_baseline': 'sd_percent_of_baseline',
            'skewness': 'skewness',
            'madb_percent': 'madb_percent',
            'percent_within_10_percent': '100 * share_within_10_percent',
            'percent_below_baseline': '100 * share_below_baseline',
            'rank_by_share_within_10_percent': 'rank_by_share_within_10_percent',
        }) }}
    from technique_effects
    inner join techniques using (technique)
    window within_ranked as (
        partition by
            study, vignette, llm, anchor_direction, temperature_scope, row_set, baseline_scope, weighting, is_ranked
        order by share_within_10_percent desc
    )
),

baselines as (
    select *, {{ numbers(['baseline', 'sd_population', 'sd_response']) }} from llm_baselines
),

domain_baselines as (
    select
        study, domain, row_set, temperature_scope,
        {{ numbers({
            'baseline_mean': 'avg(baseline)',
            'baseline_lowest': 'min(baseline)',
            'baseline_highest': 'max(baseline)',
            'margin_in_units': var('equivalence_margin_pp') ~ ' * avg(baseline) / 100',
        }) }}
    from llm_baselines
    group by all
),

by_technique as (
    select * exclude (technique), unnest([technique, 'all']) as technique from responses
),

by_direction as (
    select
        *,
        unnest(
            case when of_direction in ('low', 'high') then [of_direction, 'both', 'all'] else [of_direction, 'all'] end
        ) as anchor_direction
    from by_technique
),

counts as (
    select
        study, domain, row_set, non_null, technique, anchor_direction,
        sum(n_trials)::bigint as n_trials,
        {{ numbers({'n_trials': 'sum(n_trials)'}) }}
    from by_direction
    group by all
),

domain_counts as (
    select
        study, domain, row_set, non_null,
        {{ numbers({
            'n_llms': 'count(distinct llm)',
            'n_llms_with_baseline': "count(distinct llm) filter (where of_direction = 'none')",
            'n_providers_with_baseline': "count(distinct provider) filter (where of_direction = 'none')",
        }) }}
    from responses
    left join llms using (llm)
    group by all
),

study_counts as (
    select study, row_set, non_null, {{ numbers({'n_domains': 'count(distinct domain)'}) }} from responses
    group by all
),

cells as (
    select study, domain, row_set, non_null, technique, llm, of_direction, temperature, sum(n_trials) as n_cell
    from responses
    where technique != 'no_technique'
    group by all
),

cell_sizes as (
    select
        study, domain, row_set, non_null,
        {{ numbers({'n_trials_smallest_cell': 'min(n_cell)', 'n_trials_largest_cell': 'max(n_cell)'}) }}
    from cells
    group by all
),

iterations as (
    select
        study, domain, technique, row_set, 'final' as non_null, count(*) as n_trials,
        -- calls: the first answer, and two for each iteration (document A, appendix A.4)
        {{ numbers({
            'iterations_mean': 'avg(iterations)',
            'iterations_median': 'median(iterations)',
            'iterations_most': 'max(iterations)',
            'calls_mean': '1 + 2 * avg(iterations)',
        }) }}
    from iterated_trials
    group by all
),

of_llms as (
    select * from over_llms
    where quantity != 'skewness'
),

together as (
    {% for part in [
        'effects', 'rankings', 'distributions', 'baselines', 'domain_baselines', 'counts', 'domain_counts', 'study_counts',
        'cell_sizes', 'iterations', 'inferred', 'recommended', 'comparisons', 'of_llms',
    ] -%}
        select * from {{ part }}
        {{ 'union all by name' if not loop.last }}
    {% endfor %}
),

estimates as (
    select *, unnest(numbers) as number from together
),

-- of a domain with several vignettes what is said of each is no number of the domain
single as (
    select * from estimates
    qualify count(*) over (
        partition by
            struct_extract(number, 'quantity'),
            {{ estimate_keys()[1:] | join(',\n            ') }}
    ) = 1
),

-- what is recommended has the interval of its metric beside it
headlines as (
    select
        study, domain, technique, llm, anchor_direction, n_llms,
        {{ numbers({
            '{metric}': ('estimate', 'low', 'high'),
            'absolute_{metric}': ('abs(estimate)', least_distance('low', 'high'), 'greatest(abs(low), abs(high))'),
        }) }}
    from intervals
    union all
    select
        study, domain, technique, llm, 'both' as anchor_direction, n_llms,
        {{ numbers({'rank_by_{metric}': ('null', 'rank_low', 'rank_high')}) }}
    from rank_probabilities
    union all
    select study, domain, technique, null as llm, anchor_direction, n_llms, numbers from over_llms
    where quantity = 'skewness'
    union all
    select
        study, domain, technique, llm, anchor_direction, 1 as n_llms,
        {{ numbers({'percent_below_baseline': ('percent', 'low', 'high')}) }}
    from shares_below_baseline
),

bounds as (
    select *, unnest(numbers) as number from headlines
)

select
    estimates.number.quantity,
    estimates.{{ estimate_keys()[1:] | join(',\n    estimates.') }},
    estimates.number.value,
    coalesce(estimates.number.low, bounds.number.low) as low,
    coalesce(estimates.number.high, bounds.number.high) as high,
    estimates.n_trials,
    coalesce(estimates.n_llms, bounds.n_llms) as n_llms
from single as estimates
left join bounds
    on
        estimates.number.quantity = bounds.number.quantity
        and estimates.study = bounds.study
        and estimates.domain = bounds.domain
        and estimates.technique = bounds.technique
        and estimates.llm is not distinct from bounds.llm
        and estimates.anchor_direction = bounds.anchor_direction
        and estimates.temperature_scope = 'pooled'
        and estimates.excluded_llm is null
        and estimates.method is null
        {% for column, value in recommended_specification().items() -%}
            and estimates.{{ column }} = '{{ value }}'
        {% endfor %}
where estimates.number.value is not null
