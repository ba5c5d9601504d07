-- noqa: disable=LT02
-- One row per quantity, its keys and its specification: every number that a claim can be compared with, in one column.
with asked as (
    select * from {{ ref('int_claim_specifications') }}
),

llms as (
    select llm, provider from {{ ref('llms') }}
),

llm_baselines as (
    select
        study, domain, llm, vignette, row_set, temperature_scope,
        mean as baseline,
        sd as sd_response,
        case when n_trials = 1 then 0 else sd * sqrt((n_trials - 1) / n_trials) end as sd_population
    from {{ ref('conditions') }}
    where paradigm = 'anchoring' and is_baseline and n_trials > 0
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
        {{ as_recommended() }},
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

claim_effects as (
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
        {{ as_recommended() }},
        {{ numbers({
            'rank_by_{goal}': 'rank',
            'rank_by_{goal}_with_no_technique': 'rank_with_no_technique',
        }) }}
    from {{ ref('effects') }}
    semi join asked using (study)
    where paradigm = 'anchoring' and vignette is null
),

{% for part, model, quantities in [
    ('stopping_rules', 'int_stopping_rules_checked',
        ['n_cells_topped_up_without_cause', 'n_cells_qualified_not_topped_up']),
    ('anchor_factors', 'int_anchor_factors_recorded', ['anchor_factor_lowest', 'anchor_factor_highest']),
    ('request_ids', 'int_request_ids_logged', ['percent_with_request_id']),
] -%}
    {{ part }} as (
        select *, 'final' as non_null, {{ numbers(quantities) }} from {{ ref(model) }}
    ),

{% endfor %}
scores as (
    select *, {{ numbers({'{quantity}': ('value', 'low', 'high')}) }} from {{ ref('int_claim_scores') }}
),

distributions as (
    select
        *,
        {{ numbers([
            'median_percent_of_baseline', 'sd_percent_of_baseline', 'sd_population_percent_of_baseline', 'skewness',
            'madb_percent', 'percent_within_10_percent', 'percent_below_baseline', 'rank_by_share_within_10_percent',
        ]) }}
    from {{ ref('int_claim_distributions') }}
),

cell_means_repeated as (
    select *, {{ numbers(['percent_of_baseline_low', 'percent_of_baseline_high', 'percent_of_baseline_cohens_d']) }}
    from {{ ref('int_cell_means_repeated') }}
),

baselines as (
    select *, {{ numbers(['baseline', 'sd_population', 'sd_response']) }} from llm_baselines
),

-- the places that are possible, and what is sure of a gain on no technique, of each technique by a goal
places as (
    select * exclude (quantity, value), replace(quantity, 'place_by_', '') as metric
    from inferred
    where starts_with(quantity, 'place_by_')
),

gains as (
    select
        * exclude (quantity, value, low, high),
        replace(quantity, 'gain_by_', '') as metric,
        case when llm is not null or n_llms >= {{ fewest_llms() }} then low end as low,
        case when llm is not null or n_llms >= {{ fewest_llms() }} then high end as high
    from inferred
    where starts_with(quantity, 'gain_by_')
),

-- what a claim with a whole specification is held against has the recommended one
recommended as (
    select
        * exclude (row_set, baseline_scope, weighting),
        'pooled' as temperature_scope,
        {{ as_recommended() }}
    from inferred
    where
        row_set = 'accepted' and baseline_scope = 'pooled' and coalesce(weighting, 'llm') = 'llm'
        and regexp_matches(quantity, '^displacement$|_by_(displacement|gap|error)$|^goals_disagree$')
),

domain_baselines as (
    select
        study, domain, row_set, temperature_scope,
        {{ numbers({
            'baseline_mean': 'avg(baseline)',
            'baseline_lowest': 'min(baseline)',
            'baseline_highest': 'max(baseline)',
            'margin_in_units': var('equivalence_margin_pp') ~ ' * avg(baseline) / 100',
            'units_per_point': 'avg(baseline) / 100',
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
        {{ numbers({'n_trials': 'sum(n_trials)', 'n_trials_per_llm': 'sum(n_trials) / count(distinct llm)'}) }}
    from by_direction
    group by all
),

domain_counts as (
    select
        study, domain, row_set, non_null,
        {{ numbers({
            'n_llms': 'count(distinct llm)',
            'n_temperatures': 'count(distinct temperature)',
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
        'claim_effects', 'rankings', 'distributions', 'cell_means_repeated', 'baselines', 'domain_baselines', 'counts',
        'domain_counts', 'study_counts', 'cell_sizes', 'stopping_rules', 'anchor_factors', 'request_ids', 'iterations',
        'inferred', 'recommended', 'comparisons', 'of_llms', 'scores',
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
        places.study, places.domain, places.technique, places.llm, places.anchor_direction, places.n_llms,
        {{ numbers({
            'rank_by_{places.metric}': ('null', 'places.low', 'places.high'),
            'rank_by_{places.metric}_with_no_technique': (
                'null',
                'places.low + coalesce(gains.high < 0, false)::integer',
                'places.high + coalesce(gains.low <= 0, true)::integer',
            ),
        }) }}
    from places
    left join gains on {{ same_in('places', 'gains', ['study', 'domain', 'technique', 'llm', 'metric']) }}
    union all
    select
        study, domain, 'no_technique' as technique, llm, anchor_direction, max(n_llms) as n_llms,
        {{ numbers({'rank_by_{metric}_with_no_technique': (
            'null', '1 + count(*) filter (where low > 0)', '1 + count(*) filter (where coalesce(high >= 0, true))',
        )}) }}
    from gains
    group by study, domain, llm, anchor_direction, metric
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
        and {{ same_in('estimates', 'bounds', ['study', 'domain', 'technique', 'llm', 'anchor_direction']) }}
        and estimates.temperature_scope = 'pooled'
        and estimates.excluded_llm is null
        and estimates.method is null
        {% for column, value in recommended_specification().items() -%}
            and estimates.{{ column }} = '{{ value }}'
        {% endfor %}
where estimates.number.value is not null
