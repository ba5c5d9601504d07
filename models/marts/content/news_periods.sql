-- One row per llm with a known cutoff and period: how many articles were published before and after its knowledge ends.
select
    cutoffs.llm,
    {{ knowledge_period('news.published_at', 'cutoffs.cutoff') }} as period,
    cutoffs.cutoff,
    count(*) as n_articles,
    count(*) filter (where news.is_ready) as n_ready
from {{ ref('news') }} as news
cross join {{ ref('knowledge_cutoffs') }} as cutoffs
group by all
