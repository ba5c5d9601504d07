-- noqa: disable=LT02
-- One row per specification that a claim asks for, technique, llm (null = all) and anchor direction: what a paper's own
-- estimators make of its trials: means and their ranks, and how trials lie about the baseline. By `repeated_cell_means`
-- the mean of each cell of LLM, direction and temperature stands in for each of its trials, as in document A; there is
-- then one row for each second technique too, whose trials these cells are compared with.
{% set cell = 'specification, technique, llm, anchor_direction' %}
{% set means = ['mean_response', 'percent_of_baseline', 'deviation'] %}
{% set statistics = [
    'median_percent_of_baseline', 'sd_percent_of_baseline', 'sd_population_percent_of_baseline', 'skewness',
    'madb_percent', 'percent_within_10_percent', 'percent_below_baseline', 'percent_of_baseline_low',
    'percent_of_baseline_high',
] %}
with techniques as (
    select * from {{ ref('techniques') }}
),

specifications as (
    select distinct {{ specification_keys() }}, concat_ws('/', {{ specification_keys() }}) as specification
    from {{ ref('int_claim_specifications') }}
    where estimator is not null
),

baselines as (
    select specification, baseline_pooling, llm, at_temperature, n_trials, baseline
    from specifications
    inner join {{ ref('int_baselines_scoped') }} using (study, domain, row_set, baseline_scope)
    where not {{ is_left_out('llm', 'excluded_llm') }}
),

counted as (
    select * from {{ ref('int_responses_counted') }}
    where anchor_direction in ('low', 'high')
),

-- trials that cells are compared with have the baseline of document A's tables of techniques
trials as (
    select * from {{ ref('technique_effects') }}
    where baseline_scope = 't=1' and weighting = 'trial'
),

-- what responses are compared with: the baseline of their LLM, or (llm is null) one of all
references_ as (
    select
        specification,
        case when baseline_pooling = 'llm' then llm end as llm,
        at_temperature,
        sum(n_trials * baseline) / sum(n_trials) as baseline
    from baselines
    group by all
),

mean_baselines as (
    select specification, llm, avg(baseline) as mean_baseline from baselines
    group by grouping sets ((specification, llm), (specification))
),

responses as (
    select
        specifications.specification, estimator, direction_weighting, technique, counted.llm as of_llm,
        counted.anchor_direction as of_direction, temperature, anchor_value, response, counted.n_trials,
        references_.baseline, {{ percent_of_baseline('response', 'references_.baseline') }} as percent
    from specifications
    inner join counted using (study, domain, row_set)
    left join references_
        on
            specifications.specification = references_.specification
            and (references_.llm is null or counted.llm = references_.llm)
            and (references_.at_temperature is null or counted.temperature = references_.at_temperature)
    where
        not {{ is_left_out('counted.llm', 'excluded_llm') }}
        and temperature_scope in ('pooled', {{ temperature_scope('counted.temperature') }})
        and (non_null = 'final' or has_all_answers)
),

-- each response enters the effect of its LLM and of all, of its direction and of both
by_llm as (
    select
        * replace (
            case
                when estimator = 'repeated_cell_means'
                    then sum(n_trials * percent) over one_cell / sum(n_trials) over one_cell
                else percent
            end as percent
        ),
        unnest([of_llm, null]) as llm
    from responses
    window one_cell as (partition by specification, technique, of_llm, of_direction, temperature)
),

by_direction as (
    select *, unnest([of_direction, 'both']) as anchor_direction from by_llm
),

files as (
    select
        {{ cell }}, of_llm, of_direction, temperature, anchor_value,
        sum(n_trials) as n_file,
        sum(n_trials * response) as sum_of_responses,
        sum(n_trials) filter (where baseline is not null) as n_compared,
        sum(n_trials * (response - baseline)) as sum_of_deviations,
        sum(n_trials * percent) as sum_of_percents
    from by_direction
    group by all
),

llm_means as (
    select
        {{ cell }}, of_llm,
        sum(n_file) as n_llm,
        sum(n_compared) as n_compared,
        sum(sum_of_responses) as sum_of_responses,
        sum(sum_of_deviations) as sum_of_deviations,
        sum(sum_of_percents) as sum_of_percents,
        count(*) as n_files,
        sum(sum_of_responses / n_file) as sum_of_file_means
    from files
    group by all
),

pooled as (
    select
        {{ cell }}, estimator, direction_weighting,
        sum(case when starts_with(estimator, 'ratio') then n_llm else n_compared end)::bigint as n_trials,
        case
            when estimator = 'ratio_of_file_means' then sum(sum_of_file_means) / sum(n_files)
            when weighting = 'llm' then avg(sum_of_responses / n_llm)
            else sum(sum_of_responses) / sum(n_llm)
        end as mean_response,
        {% for name in ['deviation', 'percent'] -%}
            case
                when weighting = 'llm' then avg(sum_of_{{ name }}s / n_compared)
                else sum(sum_of_{{ name }}s) / sum(n_compared)
            end as mean_{{ name }}{{ ',' if not loop.last }}
        {% endfor %}
    from llm_means
    inner join specifications using (specification)
    group by {{ cell }}, estimator, direction_weighting, weighting
),

estimated as (
    select
        pooled.* exclude (mean_percent, mean_deviation),
        case
            when starts_with(estimator, 'ratio') then {{ percent_of_baseline('mean_response', 'mean_baseline') }}
            else mean_percent
        end as percent_of_baseline,
        case
            when starts_with(estimator, 'ratio') then mean_response - mean_baseline else mean_deviation
        end as deviation
    from pooled
    left join mean_baselines on {{ same_in('pooled', 'mean_baselines', ['specification', 'llm']) }}
),

sided as (
    select
        *,
        {% for mean in means -%}
            {%- for side in ['low', 'high'] -%}
                any_value({{ mean }}) filter (where anchor_direction = '{{ side }}') over sides
                    as {{ side }}_{{ mean }},
            {% endfor -%}
        {%- endfor %}
        direction_weighting = 'balanced' and anchor_direction = 'both' as is_balanced
    from estimated
    window sides as (partition by specification, technique, llm)
),

effects as (
    select
        {{ cell }}, n_trials, is_ranked,
        {% for mean in means -%}
            case when is_balanced then (low_{{ mean }} + high_{{ mean }}) / 2 else {{ mean }} end as {{ mean }},
        {% endfor -%}
        abs(low_percent_of_baseline - 100) - abs(high_percent_of_baseline - 100) as low_less_high_distance,
        high_mean_response - low_mean_response as spread,
        high_percent_of_baseline - low_percent_of_baseline as spread_pp
    from sided
    inner join techniques using (technique)
),

deviating as (
    select *, percent_of_baseline - 100 as deviation_pp from effects
),

compared as (
    select
        *,
        {% for value in ['deviation_pp', 'spread_pp'] -%}
            any_value({{ value }}) filter (where technique = 'no_technique') over among as {{ value }}_of_none,
        {% endfor -%}
        {% for rank, value, condition in [
            ('rank_by_deviation', 'deviation_pp', 'is_ranked'),
            ('rank_by_deviation_in_units', 'deviation', 'is_ranked'),
            ('rank_by_susceptibility', 'spread_pp', 'is_ranked'),
            ('rank_by_deviation_with_no_technique', 'deviation_pp', "(is_ranked or technique = 'no_technique')"),
        ] -%}
            {{ rank_among(value, condition, 'specification, llm, anchor_direction') }} as {{ rank }}
            {{- ',' if not loop.last }}
        {% endfor %}
    from deviating
    window among as (partition by specification, llm, anchor_direction)
),

-- a trial has a percent of its own only in a mean of ratios, and directions that weigh the same have no distribution
percents as (
    select
        {{ cell }}, percent,
        sum(n_trials) as n,
        sum(sum(n_trials)) over in_cell as n_cell,
        sum(sum(n_trials)) over (in_cell order by percent) as n_up_to,
        sum(sum(n_trials * percent)) over in_cell / n_cell as mean,
        list(distinct of_llm) as of_llms
    from by_direction
    where not starts_with(estimator, 'ratio') and direction_weighting = 'trial' and percent is not null
    group by {{ cell }}, percent
    window in_cell as (partition by {{ cell }})
),

moments as (
    select
        {{ cell }},
        any_value(mean) as mean,
        sum(n)::bigint as n_compared,
        len(list_distinct(flatten(list(of_llms)))) as n_llms,
        {{ weighted_median('percent', 'n_up_to', 'n_cell') }} as median_percent_of_baseline,
        sum(n * abs(percent - 100)) / sum(n) as madb_percent,
        100 * coalesce(sum(n) filter (where abs(percent - 100) <= 10 + 1e-9), 0) / sum(n) as percent_within_10_percent,
        100 * coalesce(sum(n) filter (where percent < 100 - 1e-9), 0) / sum(n) as percent_below_baseline,
        min(percent) = max(percent) as is_constant,
        case when is_constant then 0 else sum(n * (percent - mean) ** 2) / sum(n) end as variance,
        sum(n * (percent - mean) ** 3) / sum(n) as third_moment
    from percents
    group by {{ cell }}
),

described as (
    select
        *,
        sqrt(variance) as sd_population_percent_of_baseline,
        {{ sample_sd('variance', 'n_compared', 'is_constant') }} as sd_percent_of_baseline,
        {{ skewness('third_moment', 'variance', 'n_compared', 'is_constant') }} as skewness,
        {% for side in ['low', 'high'] -%}
            {{ bootstrap_bound(side, 'mean', 'variance', 'third_moment', 'n_compared') }}
                as percent_of_baseline_{{ side }}
            {{- ',' if not loop.last }}
        {% endfor %}
    from moments
),

-- trial: every trial weighs the same; llm: every LLM, with its own statistic. The last bits depend on the order of rows
distributions as (
    select
        specification, technique, grouped.llm, anchor_direction,
        sum(n_compared)::bigint as n_compared,
        case when weighting = 'llm' then count(*) else any_value(n_llms) end as n_llms,
        {% for statistic in statistics -%}
            round(avg({{ statistic }}), 9) as {{ statistic }}{{ ',' if not loop.last }}
        {% endfor %}
    from described
    inner join specifications using (specification)
    cross join unnest(case when weighting = 'llm' then [described.llm, null] else [described.llm] end) as grouped (llm)
    where described.llm is not null or weighting is distinct from 'llm'
    group by specification, technique, grouped.llm, anchor_direction, weighting
),

pairs as (
    select
        specification, described.technique, described.llm, described.anchor_direction, described.n_llms,
        trials.technique as technique_b,
        'cells_against_trials' as method,
        n_compared + trials.n_trials as n_trials,
        n_compared * variance + (trials.n_trials - 1) * trials.sd_percent_of_baseline ** 2 as sum_of_squares,
        round(
            (mean - trials.percent_of_baseline)
            / nullif(sqrt(sum_of_squares / (n_compared + trials.n_trials - 2)), 0), 9
        ) as percent_of_baseline_cohens_d
    from described
    inner join specifications using (specification)
    inner join trials
        on
            {{ same_in('specifications', 'trials', ['study', 'domain', 'row_set', 'temperature_scope']) }}
            and {{ same_in('described', 'trials', ['llm', 'anchor_direction']) }}
            and described.technique != trials.technique
    where estimator = 'repeated_cell_means' and excluded_llm is null
),

side_by_side as (
    select compared.*, distributions.* exclude ({{ cell }}) from compared
    left join distributions on {{ same_in('compared', 'distributions', cell.split(', ')) }}
),

together as (
    select
        *,
        {{ spread_change_percent('spread_pp', 'spread_pp_of_none') }} as spread_change_percent,
        {% for gain, value in {'gain_by_deviation': 'deviation_pp', 'gain_by_susceptibility': 'spread_pp'}.items() -%}
            case when technique != 'no_technique' then abs({{ value }}_of_none) - abs({{ value }}) end as {{ gain }},
        {% endfor -%}
        case when is_ranked then rank() over (
            partition by specification, llm, anchor_direction, is_ranked order by percent_within_10_percent desc
        ) end as rank_by_share_within_10_percent,
        case when is_ranked then row_number() over (
            partition by specification, llm, anchor_direction, is_ranked order by rank_by_deviation, technique
        ) end as place_by_deviation
    from side_by_side
    union all by name
    select * exclude (sum_of_squares) from pairs
)

select
    together.* exclude (specification, is_ranked, deviation_pp_of_none, spread_pp_of_none),
    {{ specification_keys() }},
    -- at which temperatures a technique stands in another place than over all
    any_value(place_by_deviation) filter (where temperature_scope = 'pooled') over same_but_temperature
        as place_over_all,
    any_value(n_trials) filter (where temperature_scope = 'pooled') over same_but_temperature as n_trials_over_all
from together
inner join specifications using (specification)
window same_but_temperature as (
    partition by
        {{ specification_keys() | replace('temperature_scope, ', '') }}, technique, technique_b, llm, anchor_direction
)
