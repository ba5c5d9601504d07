-- One row per audited cell and thing that is wrong with it as a whole: `value` is compared with the threshold, `n` is
-- how many offend. The table says of each check of gate.yaml where it is held, both numbers, and what is wrong.
{% set offences = [
    ('refused', "has_shares", "n_refused / n_trials", "n_refused", "n_refused || ' of ' || n_trials"),
    ('unparsed', "has_shares", "n_unparsed / n_trials", "n_unparsed", "n_unparsed || ' of ' || n_trials"),
    ('failed', "has_shares", "n_failed / n_trials", "n_failed", "n_failed || ' of ' || n_trials"),
    ('unparsed_of_batch', "true", "n_unparsed / n_trials", "n_unparsed",
        "n_unparsed || ' of ' || n_trials || ' could not be read'"),
    ('rerun_until_enough',
        "is_archive and n_answered between getvariable('minimum') and getvariable('minimum') + 10
        and n_trials >= getvariable('rerun') * n_answered",
        "n_trials / n_answered", "n_trials - n_answered", "n_trials || ' asked until ' || n_answered || ' answered'"),
    ('below_minimum',
        "is_complete_phase and n_together < coalesce(
            cells.minimum * greatest(n_temperatures, 1) * greatest(n_items, 1), getvariable('minimum')
        )",
        1, 1, "n_together || ' trials'"),
    ('upstream_providers', "n_upstreams > 1", "n_upstreams", "n_upstreams", "n_upstreams || ' upstream providers'"),
] %}
with cells as (
    select *, n_trials >= getvariable('fewest') as has_shares from {{ ref('gate_cells') }}
),

-- with what earlier batches brought of the cell
together as (
    select
        cell,
        count(*) as n_together,
        count(distinct temperature) as n_temperatures,
        count(distinct coalesce(item, judged)) as n_items
    from {{ ref('gate_trials') }}
    group by all
),

upstreams as (
    select batch_id, cell, count(distinct upstream_provider) as n_upstreams from {{ ref('gate_trials') }}
    inner join {{ ref('stg_calls') }} as calls using (trial_id)
    where calls.error is null
    group by all
),

-- whether the vignette of a batch has published trials already
followed as (
    select batch_id, bool_or(not is_new) over (partition by study, vignette) as is_followed
    from {{ ref('gate_batches') }}
    qualify is_new
),

-- of each condition, how many of its answers have something beside them that their source has read
lists as (
    select
        batch_id, min(cell) as cell, any_value(llm) as llm, item, count(*) as n_trials, count(read_as) as n_read
    from {{ ref('gate_trials') }}
    where is_new and is_read_by_source
    group by batch_id, technique, arm, item
),

wrong as (
    select
        batch_id, cell,
        concat_ws(' ', llm, technique, coalesce(arm, direction)) as cell_name,
        {% for check, condition, value, n, words in offences %}
        case
            when {{ condition }}
                then struct_pack(value := ({{ value }})::double, n := ({{ n }})::bigint, detail := {{ words }})
        end as {{ check }},
        {% endfor %}
        sample
    from cells
    inner join together using (cell)
    left join upstreams using (batch_id, cell)
)

select batch_id, cell, sample, reason, found.value, found.n, cell_name || ': ' || found.detail as detail from wrong
unpivot (found for reason in (columns(* exclude (batch_id, cell, cell_name, sample))))
where found.n > 0
union all by name
select
    batch_id,
    min(cell) as cell,
    [] as sample,
    'no_baseline' as reason,
    1 as value,
    1 as n,
    concat(
        llm, ': ',
        coalesce('its baseline is held back (' || sum(n_held_of_baseline) || ' answers)', 'it has no baseline'),
        ', for which ', format('{:,}', sum(n_trials) filter (where direction != 'none')::bigint),
        ' anchored trials wait'
    ) as detail
from cells
group by batch_id, llm
having bool_or(lacks_baseline)
union all by name
-- lists of what the source read that are shorter than those of its answers: none of it tells which answer it is of
select
    batch_id,
    min(cell) as cell,
    [] as sample,
    'readings_apart' as reason,
    count(*)::double as value,
    count(*)::bigint as n,
    min(concat(llm, ': ', item, ' has ', n_read, ' readings of ', n_trials, ' answers')) as detail
from lists
where n_read < n_trials
group by batch_id
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
inner join followed using (batch_id)
group by batch_id
having sum(n_answered) = 0 and (sum(n_trials) >= getvariable('fewest') or not any_value(is_followed))
