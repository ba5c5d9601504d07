-- One row per audited cell and anchor value: whether the anchor, numbers of the case text, or numbers of at most 1 are
-- suspiciously frequent among its answers, against the LLM's other answers.
with settings as (
    select fewest, excess, excess_se from {{ source('gate', 'settings') }}
),

batches as (
    select batch_id, case_numbers from {{ ref('gate_batches') }}
),

answers as (
    select * from {{ ref('gate_trials') }}
    where status = 'answered'
),

counted as (
    select
        study,
        vignette,
        llm,
        technique,
        direction,
        anchor_value,
        number,
        list_contains(case_numbers, number) as is_case_number,
        is_new,
        count(*) as n
    from answers
    inner join batches using (batch_id)
    group by all
),

cells as (
    select
        study,
        vignette,
        llm,
        technique,
        direction,
        anchor_value,
        sum(n) as n,
        sum(n) filter (where number = anchor_value) as n_anchor,
        sum(n) filter (where is_case_number) as n_case,
        sum(n) filter (where number <= 1) as n_one
    from counted
    where is_new
    group by all
),

-- the same number among the answers of that LLM that were given another anchor, or none
others as (
    select
        cells.study,
        cells.vignette,
        cells.llm,
        cells.technique,
        cells.direction,
        cells.anchor_value,
        sum(counted.n) filter (where counted.number = cells.anchor_value) / sum(counted.n) as anchor_share,
        sum(counted.n) filter (where counted.is_case_number) / sum(counted.n) as case_share
    from cells
    inner join counted
        on
            cells.study = counted.study and cells.vignette = counted.vignette and cells.llm = counted.llm
            and (cells.technique != counted.technique or cells.direction != counted.direction)
            and counted.anchor_value is distinct from cells.anchor_value
    group by all
),

usual as (
    select study, vignette, llm, quantile_disc(number, 0.5) as usual_number from answers
    group by all
)

select
    cells.study,
    cells.vignette,
    cells.llm,
    cells.technique,
    cells.direction,
    cells.anchor_value,
    -- more frequent than elsewhere, also where chance made the few answers of a small cell agree
    {% for kind, n_equal, share_elsewhere in [
        ('anchors', 'cells.n_anchor', 'others.anchor_share'), ('case_numbers', 'cells.n_case', 'others.case_share')
    ] %}
    coalesce(
        {{ n_equal }} >= settings.fewest
        and {{ n_equal }} / cells.n - coalesce({{ share_elsewhere }}, 0)
        - settings.excess_se * sqrt({{ n_equal }} / cells.n * (1 - {{ n_equal }} / cells.n) / cells.n)
        > settings.excess,
        false
    ) as has_{{ kind }},
    {% endfor %}
    coalesce(cells.n_one > 0 and usual.usual_number > 5, false) as has_ones
from cells
cross join settings
left join others
    on
        cells.study = others.study and cells.vignette = others.vignette and cells.llm = others.llm
        and cells.technique = others.technique and cells.direction = others.direction
        and cells.anchor_value is not distinct from others.anchor_value
left join usual on cells.study = usual.study and cells.vignette = usual.vignette and cells.llm = usual.llm
where cells.n >= settings.fewest
