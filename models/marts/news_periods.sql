-- One row per llm with a known cutoff and period: how many articles were published before and after its knowledge ends.
with news as (
    select * from {{ ref('news') }}
),

cutoffs as (
    select * from {{ ref('knowledge_cutoffs') }}
)

select
    cutoffs.llm,
    {{ knowledge_period('news.published_at', 'cutoffs.cutoff') }} as period,
    cutoffs.cutoff,
    count(*) as n_articles,
    count(*) filter (where news.is_ready) as n_ready
from news
cross join cutoffs
group by all
