-- One row per trial from the run on at which the answers of its LLM change, in all its cells together, by more than
-- chance: of each cell the squared standard score of the ranks before (Wilcoxon 1945), of which any order of the
-- answers gives the variance; the sum over the cells is as good as chi-square, of which the cube root is as good as
-- normal (Wilson & Hilferty 1931, PNAS 17).
{% set cell = ['anchored_cell', 'item', 'temperature'] | join(', ') %}
{% set of_llm = ['study', 'vignette', 'llm'] | join(', ') %}
with settings as (
    select change_z from {{ source('gate', 'settings') }}
),

-- where runs have no numbers, their times tell which was the first
answers as not materialized (
    select
        {{ of_llm }},
        trial_id,
        batch_id,
        {{ cell }},
        asked_at,
        coalesce(replicate, row_number() over (partition by {{ cell }} order by asked_at) - 1) as run,
        rank() over (partition by {{ cell }} order by number)
        + (count(*) over (partition by {{ cell }}, number) - 1) / 2 as number_rank
    from {{ ref('gate_trials') }}
    where
        status = 'answered' and not is_quarantined and number is not null and is_new
        and (replicate is not null or asked_at is not null)
),

cells as (
    select
        {{ of_llm }},
        {{ cell }},
        count(*) as n,
        var_pop(number_rank) as variance,
        [
            {% for run in [5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200] %}
            struct_pack(
                run := {{ run }},
                n := count(*) filter (where run < {{ run }}),
                total := sum(number_rank) filter (where run < {{ run }})
            ),
            {% endfor %}
        ] as splits
    from answers
    group by all
    having variance > 0
),

split as (
    select * exclude (splits), unnest(splits) as early from cells
),

changed as (
    select
        {{ of_llm }},
        early['run'] as from_run,
        count(*) as n_cells,
        sum(
            power(early['total'] - early['n'] * (n + 1) / 2, 2) * (n - 1) / (early['n'] * (n - early['n']) * variance)
        ) as chi_square,
        (cbrt(chi_square / n_cells) - 1 + 2 / (9 * n_cells)) / sqrt(2 / (9 * n_cells)) as z
    from split
    where early['n'] between 1 and n - 1
    group by {{ of_llm }}, from_run
    qualify row_number() over (partition by {{ of_llm }} order by z desc, from_run asc) = 1
)

select
    answers.trial_id,
    answers.batch_id,
    answers.study,
    concat(
        'from run ', from_run, ' (' || (min(asked_at) over (partition by {{ of_llm }}))::varchar || ')',
        ' on the answers of ', llm, ' are others than before, by ', round(z, 1), ' standard errors'
    ) as detail
from answers
inner join changed using ({{ of_llm }})
cross join settings
where run >= from_run and z > change_z
