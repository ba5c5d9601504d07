-- One row per trial from the run on at which the answers of its LLM change, in all its cells together, by more than
-- chance: of each cell the squared standard score of the ranks before (Wilcoxon 1945), of which any order of the
-- answers gives the variance; the sum over the cells is as good as chi-square, of which the cube root is as good as
-- normal (Wilson & Hilferty 1931, PNAS 17). Where runs have no numbers, their times tell which was the first.
{% set of_llm = 'study, vignette, llm' %}
{% set of_cell = 'anchored_cell, item, temperature' %}
{% set run = 'coalesce(replicate, row_number() over (partition by ' ~ of_cell ~ ' order by asked_at) - 1)' %}
with trials as not materialized (
    select * from {{ ref('gate_trials') }}
    where
        {{ is_countable() }} and is_new
        and (replicate is not null or asked_at is not null)
),

llms as (
    select distinct {{ of_llm }}, anchored_cell from {{ ref('gate_kinds') }}
),

answers as (
    select
        {{ of_cell }},
        {{ run }} as run,
        rank() over (partition by {{ of_cell }} order by number)
        + (count(*) over (partition by {{ of_cell }}, number) - 1) / 2 as number_rank
    from trials
),

cells as (
    select
        {{ of_cell }},
        count(*) as n,
        var_pop(number_rank) as variance,
        [
            {% for first_late in [5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200] %}
            struct_pack(
                run := {{ first_late }},
                n := count(*) filter (where run < {{ first_late }}),
                total := sum(number_rank) filter (where run < {{ first_late }})
            ),
            {% endfor %}
        ] as splits
    from answers
    group by all
    having variance > 0
),

split as (
    select llms.*, cells.n, cells.variance, unnest(cells.splits) as early from cells
    inner join llms using (anchored_cell)
),

changed as (
    select
        {{ of_llm }},
        early['run'] as from_run,
        count(*) as n_cells,
        -- of a cell that is nearly constant, one answer near an end would be too much
        sum(
            least(
                power(early['total'] - early['n'] * (n + 1) / 2, 2) * (n - 1)
                / (early['n'] * (n - early['n']) * variance),
                getvariable('change_most')
            )
        ) as chi_square,
        (cbrt(chi_square / n_cells) - 1 + 2 / (9 * n_cells)) / sqrt(2 / (9 * n_cells)) as z
    from split
    where early['n'] between getvariable('fewest') and n - getvariable('fewest')
    group by {{ of_llm }}, from_run
    having z > getvariable('change_z')
    qualify row_number() over (partition by {{ of_llm }} order by z desc, from_run asc) = 1
),

late as (
    select *, {{ run }} as run from trials
    inner join changed using ({{ of_llm }})
    qualify run >= from_run
)

select
    trial_id,
    concat(
        'from run ', from_run, ' (' || (min(asked_at) over (partition by {{ of_llm }}))::varchar || ')',
        ' on the answers of ', llm, ' are others than before, by ', round(z, 1), ' standard errors'
    ) as detail
from late
