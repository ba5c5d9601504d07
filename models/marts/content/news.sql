-- One row per article of the news set: what it says, its falsified counterpart, and whether LLMs were asked about it.
with asked as (
    select items.pair as article_id, count(*) as n_trials
    from {{ ref('stg_trials') }} as trials
    inner join {{ ref('stg_items') }} as items using (study, item)
    where trials.role is null
    group by all
)

select
    news.* exclude (found_in, fetched_at),
    asked.n_trials is not null as is_asked,
    coalesce(asked.n_trials, 0) as n_trials,
    news.reason is null as is_ready
from {{ ref('int_news_paired') }} as news
left join asked using (article_id)
