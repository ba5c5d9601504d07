-- One row per study, domain, anchor direction and row set: what its anchors were, in baselines of the LLM that was
-- asked, as whoever asked could know them: the mean of the valid numbers that were recorded. Of the medians of LLMs it
-- has the smallest and the largest.
with by_llm as (
    select
        study,
        domain,
        vignette,
        llm,
        anchor_direction,
        row_set,
        count(*) as n_trials,
        median(anchor_value / baseline) as anchor_factor
    from {{ ref('int_trials_claimed') }}
    inner join {{ ref('int_baselines_read') }} using (study, vignette, llm)
    where anchor_direction in ('low', 'high') and anchor_value is not null
    group by all
)

select
    study,
    domain,
    anchor_direction,
    row_set,
    sum(n_trials)::bigint as n_trials,
    count(distinct llm) as n_llms,
    min(anchor_factor) as anchor_factor_lowest,
    max(anchor_factor) as anchor_factor_highest
from by_llm
group by all
