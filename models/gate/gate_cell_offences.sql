-- One row per audited cell (LLM, technique and anchor direction; an LLM as a whole has neither) and thing that is wrong
-- with it as a whole: `value` is held against the threshold, `n` counts what offends. Each select is a check of
-- ingest/gate.yaml; columns are named by the first. -- noqa: disable=AL03,AL08
with settings as (
    select fewest, minimum as fewest_of_an_archive, rerun from {{ source('gate', 'settings') }}
),

trials as (
    select * from {{ ref('gate_trials') }}
),

cells as (
    select * from {{ ref('gate_cells') }}
    cross join settings
),

calls as (
    select trial_id, upstream_provider from {{ ref('stg_calls') }}
    where error is null
),

-- with what earlier batches brought of the cell
together as (
    select
        study,
        vignette,
        llm,
        technique,
        direction,
        count(*) as n_together,
        count(distinct temperature) as n_temperatures
    from trials
    group by all
),

upstreams as (
    select trials.batch_id, trials.llm, trials.technique, trials.direction, count(distinct calls.upstream_provider) as n
    from trials
    inner join calls using (trial_id)
    where trials.is_new
    group by all
),

without_baseline as (
    select distinct batch_id, llm from trials
    where
        is_new and direction in ('low', 'high') and baseline is null
        and coalesce(rule, 'proportional') = 'proportional'
)

{% for status in ('refused', 'unparsed', 'failed') %}
select
    batch_id,
    llm,
    technique,
    direction,
    '{{ status }}' as reason,
    n_{{ status }} / n_trials as value,
    n_{{ status }} as n,
    n_{{ status }} || ' of ' || n_trials as detail
from cells
where n_trials >= fewest and n_{{ status }} > 0
union all
{% endfor %}
select
    batch_id, llm, technique, direction, 'rerun_until_enough', n_trials / n_answered, n_trials - n_answered,
    n_trials || ' asked until ' || n_answered || ' answered'
from cells
where
    is_archive and n_answered between fewest_of_an_archive and fewest_of_an_archive + 10
    and n_trials >= rerun * n_answered
union all
select batch_id, llm, technique, direction, 'below_minimum', 1, n_together, n_together || ' trials'
from cells
inner join together using (study, vignette, llm, technique, direction)
where is_complete_phase and n_together < coalesce(minimum * greatest(n_temperatures, 1), fewest_of_an_archive)
union all
select batch_id, llm, technique, direction, 'upstream_providers', n, n, n || ' upstream providers' from upstreams
where n > 1
union all
select batch_id, llm, null, null, 'no_baseline', 1, 1, llm || ' has anchored trials and no baseline'
from without_baseline
