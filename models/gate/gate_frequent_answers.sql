-- One row per audited cell and anchor value: whether the anchor, numbers of the case text, or numbers of at most 1 are
-- suspiciously frequent among its answers, against the LLM's other answers.
with answers as not materialized (
    select *, struct_pack(study, vignette, llm, of_item) as asked from {{ ref('gate_trials') }}
    where {{ is_countable() }}
),

counted as (
    select
        asked, cell, anchored_cell, anchor_value, number, answers.is_new, count(*) as n,
        list_contains(case_numbers, number) as is_case_number
    from answers
    inner join {{ ref('gate_batches') }} using (batch_id)
    group by all
),

usual as (
    select asked, quantile_disc(number, 0.5) as usual_number from answers
    group by all
),

cells as (
    select
        asked, cell, anchored_cell, anchor_value, sum(n) as n,
        sum(n) filter (where number = anchor_value) as n_anchors,
        sum(n) filter (where is_case_number) as n_case_numbers,
        sum(n) filter (where number <= 1) as n_ones
    from counted
    where is_new
    group by all
),

-- the same numbers among the answers of that LLM that were given another anchor, or none
others as (
    select
        cells.anchored_cell,
        sum(counted.n) filter (where counted.number = cells.anchor_value) / sum(counted.n) as share_of_anchors,
        sum(counted.n) filter (where counted.is_case_number) / sum(counted.n) as share_of_case_numbers
    from cells
    inner join counted
        on
            cells.asked = counted.asked and cells.cell != counted.cell
            and counted.anchor_value is distinct from cells.anchor_value
    group by all
)

select
    anchored_cell,
    -- more frequent than elsewhere, also where chance made the few answers of a small cell agree
    {% for kind in ('anchors', 'case_numbers') %}
    coalesce(
        n_{{ kind }} >= getvariable('fewest')
        and n_{{ kind }} / n - coalesce(share_of_{{ kind }}, 0)
        - getvariable('excess_se') * sqrt(n_{{ kind }} / n * (1 - n_{{ kind }} / n) / n)
        > getvariable('excess'),
        false
    ) as has_{{ kind }},
    {% endfor %}
    coalesce(n_ones > 0 and usual_number > 5, false) as has_ones
from cells
left join others using (anchored_cell)
left join usual using (asked)
where n >= getvariable('fewest')
