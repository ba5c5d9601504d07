-- One row per audited cell and thing that is wrong with it as a whole: `value` is held against the threshold, `n` is
-- how many offend. Each column of `wrong` is a check of ingest/gate.yaml, null where all is well.
with settings as (
    select fewest, minimum as fewest_of_an_archive, rerun from {{ source('gate', 'settings') }}
),

trials as (
    select * from {{ ref('gate_trials') }}
),

cells as (
    select * from {{ ref('gate_cells') }}
),

batches as (
    select batch_id, study, vignette, is_new from {{ ref('gate_batches') }}
),

calls as (
    select trial_id, upstream_provider from {{ ref('stg_calls') }}
    where error is null
),

-- with what earlier batches brought of the cell
together as (
    select
        cell,
        count(*) as n_together,
        count(distinct temperature) as n_temperatures,
        count(distinct coalesce(item, judged)) as n_items
    from trials
    group by all
),

upstreams as (
    select batch_id, cell, count(distinct upstream_provider) as n_upstreams from trials
    inner join calls using (trial_id)
    group by all
),

earlier as (
    select study, vignette from batches
    where not is_new
),

-- the batches whose vignette has published trials already
followed as (
    select new_ones.batch_id, true as is_followed
    from batches as new_ones
    semi join earlier using (study, vignette)
    where new_ones.is_new
),

wrong as (
    select
        batch_id,
        cell,
        llm,
        technique,
        arm,
        direction,
        sample,
        {% for status in ('refused', 'unparsed', 'failed') %}
        case when n_trials >= fewest and n_{{ status }} > 0 then {
                    'value': n_{{ status }} / n_trials,
                    'n': n_{{ status }},
                    'detail': n_{{ status }} || ' of ' || n_trials
                }
        end as {{ status }},
        {% endfor %}
        case when n_unparsed > 0 then {
                    'value': n_unparsed / n_trials,
                    'n': n_unparsed,
                    'detail': n_unparsed || ' of ' || n_trials || ' could not be read'
                }
        end as unparsed_of_batch,
        case
            when
                is_archive and n_answered between fewest_of_an_archive and fewest_of_an_archive + 10
                and n_trials >= rerun * n_answered
                then {
                        'value': n_trials / n_answered,
                        'n': n_trials - n_answered,
                        'detail': n_trials || ' asked until ' || n_answered || ' answered'
                    }
        end as rerun_until_enough,
        case
            when
                is_complete_phase
                and n_together < coalesce(
                    minimum * greatest(n_temperatures, 1) * greatest(n_items, 1), fewest_of_an_archive
                )
                then { 'value': 1::double, 'n': 1::bigint, 'detail': n_together || ' trials' }
        end as below_minimum,
        case
            when n_upstreams > 1
                then { 'value': n_upstreams::double, 'n': n_upstreams, 'detail': n_upstreams || ' upstream providers' }
        end as upstream_providers
    from cells
    cross join settings
    inner join together using (cell)
    left join upstreams using (batch_id, cell)
)

select
    batch_id,
    cell,
    sample,
    reason,
    found.value,
    found.n,
    concat_ws(' ', llm, technique, coalesce(arm, direction))
    || ': ' || found.detail as detail
from wrong
unpivot (found for reason in (columns(* exclude (batch_id, cell, llm, technique, arm, direction, sample))))
union all by name
select
    batch_id,
    min(cell) as cell,
    [] as sample,
    'no_baseline' as reason,
    1 as value,
    1 as n,
    llm || ': ' || llm || ' has anchored trials and no baseline' as detail
from cells
where lacks_baseline
group by batch_id, llm
union all by name
-- few trials that follow answers may all be refused, as those that are asked again often are
select
    batch_id,
    min(cell) as cell,
    [] as sample,
    'no_answer' as reason,
    1 as value,
    sum(n_trials)::bigint as n,
    'none of ' || sum(n_trials) || ' trials has an answer' as detail
from cells
cross join settings
left join followed using (batch_id)
group by batch_id
having sum(n_answered) = 0 and (sum(n_trials) >= any_value(fewest) or not any_value(coalesce(is_followed, false)))
