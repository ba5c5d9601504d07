-- noqa: disable=LT02
-- One row per study, llm, vignette, technique and goal (`metric`). What is absolute is taken of each LLM, vignette and
-- direction, before any mean over them, so that answers that are too low and answers that are too high cannot cancel.
with responses as (
    select * from {{ ref('int_responses_counted') }}
    where row_set = 'accepted' and anchor_direction in ('low', 'high', 'none')
),

baselines as (
    select study, vignette, llm, n_trials as n_baseline, baseline from {{ ref('baselines') }}
    where temperature_scope = 'pooled'
),

compared as (
    select
        responses.*,
        coalesce(baselines.n_baseline, 0) as n_baseline,
        {{ percent_of_baseline('responses.response', 'baselines.baseline') }} as percent
    from responses
    left join baselines using (study, vignette, llm)
),

directions as (
    select
        study,
        domain,
        llm,
        vignette,
        technique,
        anchor_direction,
        n_baseline,
        sum(n_trials)::bigint as n_trials,
        sum(n_trials * percent) / sum(n_trials) - 100 as displaced,
        sum(n_trials * abs(percent - 100)) / sum(n_trials) as error
    from compared
    group by all
),

unanchored as (
    select study, vignette, llm, error as error_unanchored from directions
    where technique = 'no_technique' and anchor_direction = 'none'
),

conditions as (
    select
        study,
        domain,
        llm,
        vignette,
        technique,
        n_baseline,
        sum(n_trials)::bigint as n_trials,
        count(*) < 2 as lacks_direction,
        any_value(displaced) filter (where anchor_direction = 'low') as low,
        any_value(displaced) filter (where anchor_direction = 'high') as high,
        avg(error) as error
    from directions
    where anchor_direction in ('low', 'high')
    group by all
),

of_goals as (
    {% for goal, loss, loss_unanchored in [
        ('displacement', '(abs(low) + abs(high)) / 2', 'null'),
        ('gap', 'abs(high - low)', 'null'),
        ('error', 'case when not lacks_direction then error end', 'error_unanchored'),
    ] -%}
        select conditions.*, '{{ goal }}' as metric, {{ loss }} as loss, {{ loss_unanchored }} as loss_unanchored
        from conditions
        left join unanchored using (study, vignette, llm)
        {{ 'union all' if not loop.last }}
    {% endfor %}
)

select
    study,
    domain,
    llm,
    vignette,
    technique,
    metric,
    loss,
    loss_unanchored,
    n_trials,
    n_baseline,
    {{ reasons([
        ("lacks_direction", "missing_direction"),
        ("n_baseline = 0 or (loss is null and not lacks_direction)", "no_baseline"),
        ("n_baseline between 1 and 9", "baseline_below_10"),
        ("n_baseline between 10 and 29", "baseline_below_30"),
    ]) }} as reason
from of_goals
