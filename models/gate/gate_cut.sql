-- One row per audited trial of an LLM that lacks runs the more often the higher its cells answer, or the lower, by more
-- than chance (Spearman 1904, with Fisher's z): somebody may have taken out what was too high, or too low.
{% set of_llm = 'study, vignette, llm' %}
with trials as not materialized (
    select * from {{ ref('gate_trials') }}
),

cells as (
    select
        {{ of_llm }},
        anchored_cell,
        temperature,
        median(case when status = 'answered' then number end) as level,
        max(replicate)::double - min(replicate) + 1 as n_runs,
        greatest(n_runs - count(*), 0) as n_missing,
        rank() over (partition by {{ of_llm }} order by level) as level_rank,
        rank() over (partition by {{ of_llm }} order by n_missing / n_runs) as missing_rank
    from trials
    where replicate is not null
    group by {{ of_llm }}, anchored_cell, temperature
    having level is not null
),

llms as (
    select
        {{ of_llm }},
        count(*) filter (where n_missing > 0) as n_lacking,
        -- where runs are numbered through, each cell seems to lack some
        quantile_disc(n_missing, 0.25) as quarter,
        sum(n_missing) as n_missing,
        sum(n_runs) as n_runs,
        atanh(0.999999 * corr(missing_rank, level_rank)) * sqrt(greatest(count(*) - 3, 0)) as z
    from cells
    group by all
)

select
    trials.trial_id,
    concat(
        n_missing, ' of ', n_runs, ' runs are not there, the more the ', if(z > 0, 'higher', 'lower'), ' a cell answers'
    ) as detail
from trials
inner join llms using ({{ of_llm }})
where
    trials.is_new and n_lacking >= getvariable('fewest') and quarter = 0
    and n_missing >= getvariable('cut_share') * n_runs and abs(z) > getvariable('cut_z')
