-- One row per study, domain and llm: where a high anchor without a technique leaves it against its own baseline.
with intervals as (
    select * from {{ ref('intervals') }}
    where
        technique = 'no_technique' and anchor_direction = 'high' and metric = 'percent_of_baseline'
        and weighting = 'llm' and row_set = 'accepted' and baseline_scope = 'pooled' and method = 'headline'
        and llm is not null
),

llms as (
    select llm, provider from {{ ref('llms') }}
)

select
    intervals.study,
    intervals.domain,
    intervals.llm,
    llms.provider,
    case
        when intervals.high < 100 then 'compression'
        when intervals.low > 100 then 'inflation'
        when intervals.low is not null then 'none'
        when intervals.reason like '%baseline_below_10%' then null
        -- every answer and every unanchored answer was the same
        when intervals.estimate < 100 then 'compression'
        when intervals.estimate > 100 then 'inflation'
        when intervals.estimate = 100 then 'none'
    end as pattern,
    intervals.estimate as percent_of_baseline,
    intervals.low,
    intervals.high,
    intervals.confidence,
    intervals.method,
    intervals.procedure,
    intervals.n_resamples,
    intervals.seed,
    intervals.n_trials,
    intervals.n_llms,
    intervals.reason
from intervals
left join llms on intervals.llm = llms.llm
