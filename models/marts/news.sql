-- One row per article of the news set: what it says, its falsified counterpart, and whether LLMs were asked about it.
with news as (
    select * from {{ ref('int_news_paired') }}
),

items as (
    select
        study,
        item,
        pair as article_id
    from {{ ref('stg_items') }}
),

trials as (
    select
        study,
        item
    from {{ ref('stg_trials') }}
    where role is null
),

asked as (
    select
        items.article_id,
        count(*) as n_trials
    from trials
    inner join items using (study, item)
    group by all
)

select
    news.article_id,
    news.url,
    news.domain,
    news.source,
    news.author,
    news.title,
    news.api_description,
    news.published_at,
    news.language,
    news.keyword,
    news.falsification_id,
    news.falsified_description,
    news.n_falsifications,
    asked.n_trials is not null as is_asked,
    coalesce(asked.n_trials, 0) as n_trials,
    news.reason is null as is_ready,
    news.reason
from news
left join asked using (article_id)
