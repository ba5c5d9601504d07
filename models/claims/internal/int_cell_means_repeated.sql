-- noqa: disable=LT02
-- One row per specification that a claim asks for with estimator `repeated_cell_means`, technique, technique_b (null =
-- none), llm (null = all) and anchor direction: what document A gets where the mean of each cell of LLM, direction and
-- temperature stands in for each of its trials, so that trials of a cell do not vary.
{% set keys = specification_keys() %}
{% set cell = keys ~ ', specification, technique, llm, anchor_direction' %}
with specifications as (
    {{ specifications_asked(ref('int_claim_specifications')) }}
),

responses as (
    select * from {{ ref('int_claim_responses') }}
    where estimator = 'repeated_cell_means' and percent_of_baseline is not null
),

-- the other technique of an effect size has its trials, over the baseline of document A's tables of techniques
compared as (
    select *, llm as of_llm, anchor_direction as of_direction from {{ ref('int_responses_compared') }}
    where baseline_scope = 't=1' and percent_of_baseline is not null
),

cells as (
    select
        {{ keys }}, specification, technique, of_llm, of_direction, temperature,
        sum(n_trials) as n,
        sum(n_trials * percent_of_baseline) / sum(n_trials) as percent
    from responses
    group by all
),

trials as (
    select specification, technique, of_llm, of_direction, n_trials as n, percent_of_baseline as percent
    from specifications
    inner join compared using (study, domain, row_set)
    where
        estimator = 'repeated_cell_means'
        and not {{ is_left_out('of_llm', 'excluded_llm') }}
        and temperature_scope in ('pooled', {{ temperature_scope('temperature') }})
        and (non_null = 'final' or has_all_answers)
),

{% for table in ['cells', 'trials'] %}
{{ table }}_by_llm as (
    select *, unnest([of_llm, null]) as llm from {{ table }}
),

{{ table }}_by_direction as (
    select *, unnest([of_direction, 'both']) as anchor_direction from {{ table }}_by_llm
),

{{ table }}_centred as (
    select *, percent - sum(n * percent) over one_technique / sum(n) over one_technique as deviation
    from {{ table }}_by_direction
    window one_technique as (partition by specification, technique, llm, anchor_direction)
),

{{ table }}_described as (
    select
        {{ keys ~ ',' if table == 'cells' }} specification, technique, llm, anchor_direction,
        sum(n)::bigint as n_trials,
        count(distinct of_llm) as n_llms,
        sum(n * percent) / sum(n) as mean,
        case when min(percent) < max(percent) then sum(n * deviation ** 2) / sum(n) else 0 end as variance,
        sum(n * deviation ** 3) / sum(n) as third_moment
    from {{ table }}_centred
    group by all
),

{% endfor %}
bounds as (
    select
        {{ cell }}, n_trials, n_llms,
        {% for side in ['low', 'high'] -%}
            {{ bootstrap_bound(side, 'mean', 'variance', 'third_moment', 'n_trials') }}
                as percent_of_baseline_{{ side }}
            {{- ',' if not loop.last }}
        {% endfor %}
    from cells_described
),

pairs as (
    select
        cells_described.*,
        trials_described.technique as technique_b,
        trials_described.n_trials as n_trials_b,
        cells_described.mean - trials_described.mean as difference,
        sqrt(
            (
                cells_described.n_trials * cells_described.variance
                + trials_described.n_trials * trials_described.variance
            )
            / (cells_described.n_trials + trials_described.n_trials - 2)
        ) as pooled_sd
    from cells_described
    inner join trials_described
        on
            cells_described.specification = trials_described.specification
            and cells_described.llm is not distinct from trials_described.llm
            and cells_described.anchor_direction = trials_described.anchor_direction
            and cells_described.technique != trials_described.technique
),

effect_sizes as (
    select
        {{ cell }}, technique_b, 'cells_against_trials' as method,
        n_trials + n_trials_b as n_trials, n_llms,
        difference / nullif(pooled_sd, 0) as percent_of_baseline_cohens_d
    from pairs
),

together as (
    select * from bounds
    union all by name
    select * from effect_sizes
)

-- the last bits of a mean depend on the order in which its numbers come
select
    * exclude (specification) replace (
        round(percent_of_baseline_low, 9) as percent_of_baseline_low,
        round(percent_of_baseline_high, 9) as percent_of_baseline_high,
        round(percent_of_baseline_cohens_d, 9) as percent_of_baseline_cohens_d
    )
from together
