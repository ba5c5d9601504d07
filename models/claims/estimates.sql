-- noqa: disable=LT02
-- One row per quantity, its keys and its specification: every number that a claim can be compared with, in one column.
{% set keys = estimate_keys() %}
{% set effect_quantities = [
    'percent_of_baseline', 'deviation_pp', 'absolute_deviation_pp', 'deviation', 'mean_response', 'spread', 'spread_pp',
    'spread_change_percent', 'rank_by_deviation', 'rank_by_deviation_in_units', 'rank_by_susceptibility',
    'rank_by_deviation_with_no_technique',
] %}
{% set distribution_quantities = [
    'median_percent_of_baseline', 'sd_percent_of_baseline', 'skewness', 'madb_percent', 'percent_within_10_percent',
    'percent_below_baseline', 'rank_by_share_within_10_percent',
] %}

with effects as (
    select *, abs(deviation_pp) as absolute_deviation_pp from {{ ref('int_claim_effects_ranked') }}
),

technique_effects as (
    select * from {{ ref('technique_effects') }}
),

asked as (
    select * from {{ ref('int_claim_specifications') }}
),

techniques as (
    select technique, is_ranked from {{ ref('techniques') }}
),

llms as (
    select llm, provider from {{ ref('llms') }}
),

llm_baselines as (
    select * exclude (n_trials, min_response, max_response) from {{ ref('int_baselines_summarised') }}
),

responses as (
    select * from {{ ref('int_responses_counted') }}
    where technique != 'sacd_initial'
),

iterated_trials as (
    select * from {{ ref('int_trials_directed') }}
    where iterations is not null
),

inferred as (
    select * from {{ ref('inferred_estimates') }}
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
    where weighting = 'llm' and rank_low is not null
),

effects_long as (
    unpivot (
        select * replace (
            {% for quantity in effect_quantities -%}
                {{ quantity }}::double as {{ quantity }}{{ ', ' if not loop.last }}
            {%- endfor %}
        ) from effects
    )
    on {{ effect_quantities | join(', ') }}
    into name quantity value value
),

distributions as (
    select
        effects.*,
        100 * share_within_10_percent as percent_within_10_percent,
        100 * share_below_baseline as percent_below_baseline,
        case when techniques.is_ranked then
            rank() over (
                partition by
                    study, vignette, llm, anchor_direction, temperature_scope, row_set, baseline_scope, weighting,
                    techniques.is_ranked
                order by share_within_10_percent desc
            )
        end::double as rank_by_share_within_10_percent,
        'trial' as direction_weighting,
        'llm' as baseline_pooling,
        'mean_of_ratios' as estimator,
        'final' as non_null,
        null as excluded_llm
    from technique_effects as effects
    inner join techniques using (technique)
    semi join asked
        on
            effects.study = asked.study
            and effects.domain = asked.domain
            and effects.temperature_scope = asked.temperature_scope
            and effects.row_set = asked.row_set
            and effects.baseline_scope = asked.baseline_scope
            and effects.weighting = asked.weighting
),

distributions_long as (
    unpivot distributions
    on {{ distribution_quantities | join(', ') }}
    into name quantity value value
),

llm_baselines_long as (
    unpivot llm_baselines
    on baseline, sd_population, sd_response
    into name quantity value value
),

domain_baselines_long as (
    unpivot (
        select
            study,
            domain,
            row_set,
            temperature_scope,
            avg(baseline) as baseline_mean,
            min(baseline) as baseline_lowest,
            max(baseline) as baseline_highest,
            {{ var('equivalence_margin_pp') }} * avg(baseline) / 100 as margin_in_units
        from llm_baselines
        group by all
    )
    on baseline_mean, baseline_lowest, baseline_highest, margin_in_units
    into name quantity value value
),

counted as (
    select
        study,
        domain,
        row_set,
        unnest(case when has_all_answers then ['final', 'both'] else ['final'] end) as non_null,
        llm,
        technique,
        anchor_direction as of_direction,
        temperature,
        n_trials
    from responses
),

by_technique as (
    select * exclude (technique), unnest([technique, 'all']) as technique from counted
),

by_direction as (
    select
        *,
        unnest(
            case when of_direction in ('low', 'high') then [of_direction, 'both', 'all'] else [of_direction, 'all'] end
        ) as anchor_direction
    from by_technique
),

counts_long as (
    select
        study,
        domain,
        row_set,
        non_null,
        technique,
        anchor_direction,
        'n_trials' as quantity,
        sum(n_trials)::double as value
    from by_direction
    group by all
),

domain_counts_long as (
    unpivot (
        select
            study,
            domain,
            row_set,
            non_null,
            count(distinct llm)::double as n_llms,
            count(distinct llm) filter (where of_direction = 'none')::double as n_llms_with_baseline,
            count(distinct provider) filter (where of_direction = 'none')::double as n_providers_with_baseline
        from counted
        left join llms using (llm)
        group by all
    )
    on n_llms, n_llms_with_baseline, n_providers_with_baseline
    into name quantity value value
),

study_counts_long as (
    select study, row_set, non_null, 'n_domains' as quantity, count(distinct domain)::double as value from counted
    group by all
),

cells_long as (
    unpivot (
        select
            study,
            domain,
            row_set,
            non_null,
            min(n_cell)::double as n_trials_smallest_cell,
            max(n_cell)::double as n_trials_largest_cell
        from (
            select
                study, domain, row_set, non_null, technique, llm, of_direction, temperature, sum(n_trials) as n_cell
            from counted
            where technique != 'no_technique'
            group by all
        ) as cells
        group by all
    )
    on n_trials_smallest_cell, n_trials_largest_cell
    into name quantity value value
),

iterations_long as (
    unpivot (
        select
            study,
            domain,
            technique,
            row_set,
            'final' as non_null,
            count(*) as n_trials,
            avg(iterations) as iterations_mean,
            median(iterations)::double as iterations_median,
            max(iterations)::double as iterations_most,
            -- the first answer, and two calls for each iteration (document A, appendix A.4)
            1 + 2 * avg(iterations) as calls_mean
        from iterated_trials
        cross join (values ('as_recorded'), ('accepted')) as row_sets (row_set)
        group by all
    )
    on iterations_mean, iterations_median, iterations_most, calls_mean
    into name quantity value value
),

together as (
    select * from effects_long
    union all by name
    select * from distributions_long
    union all by name
    select * from llm_baselines_long
    union all by name
    select * from domain_baselines_long
    union all by name
    select *, value::bigint as n_trials from counts_long
    union all by name
    select * from domain_counts_long
    union all by name
    select * from study_counts_long
    union all by name
    select * from cells_long
    union all by name
    select * from iterations_long
    union all by name
    select * from inferred
),

-- what is recommended has the interval of its metric beside it
headline_intervals as (
    select study, domain, technique, llm, anchor_direction, metric as quantity, low, high, n_llms
    from intervals
    union all
    select
        study,
        domain,
        technique,
        llm,
        'both' as anchor_direction,
        'rank_by_' || metric as quantity,
        rank_low as low,
        rank_high as high,
        n_llms
    from rank_probabilities
),

bounded as (
    select
        together.* exclude (low, high, n_llms),
        coalesce(together.n_llms, headline.n_llms) as n_llms,
        case
            when together.low is not null or together.quantity != 'absolute_deviation_pp'
                then coalesce(together.low, headline.low)
            when headline.low * headline.high < 0 then 0
            else least(abs(headline.low), abs(headline.high))
        end as low,
        case
            when together.high is not null or together.quantity != 'absolute_deviation_pp'
                then coalesce(together.high, headline.high)
            else greatest(abs(headline.low), abs(headline.high))
        end as high
    from together
    left join headline_intervals as headline
        on
            together.study = headline.study
            and together.domain = headline.domain
            and together.technique = headline.technique
            and together.llm is not distinct from headline.llm
            and together.anchor_direction = headline.anchor_direction
            and headline.quantity = replace(together.quantity, 'absolute_deviation_pp', 'deviation_pp')
            and together.temperature_scope = 'pooled'
            and together.excluded_llm is null
            and together.method is null
            {% for column, value in recommended_specification().items() -%}
                and together.{{ column }} = '{{ value }}'
            {% endfor %}
)

select
    {{ keys | join(',\n    ') }},
    value,
    low,
    high,
    n_trials,
    n_llms
from bounded
