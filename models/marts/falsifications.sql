-- One row per falsified text of an article: who made it, and what the people said who validated it.
with falsifications as (
    select * from {{ ref('int_falsifications_validated') }}
),

news as (
    select
        article_id,
        api_description
    from {{ ref('stg_news') }}
)

select
    falsifications.falsification_id,
    falsifications.article_id,
    news.api_description,
    falsifications.falsified_description,
    falsifications.made_by,
    falsifications.n_validators,
    falsifications.n_negations,
    falsifications.reason is null as is_ready,
    falsifications.reason
from falsifications
inner join news using (article_id)
