-- One row per falsified text of an article: who made it, and what the people said who validated it.
select falsifications.* exclude (ordinal), news.api_description, falsifications.reason is null as is_ready
from {{ ref('int_falsifications_validated') }} as falsifications
inner join {{ ref('stg_news') }} as news using (article_id)
