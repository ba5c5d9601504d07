-- One row per domain and month: how many articles were published, and how far they are on their way to LLMs.
select
    domain,
    date_trunc('month', published_at at time zone 'UTC')::date as month,
    count(*) as n_articles,
    count(api_description) as n_described,
    count(falsification_id) as n_falsified,
    count(*) filter (where is_ready) as n_ready,
    count(*) filter (where is_asked) as n_asked
from {{ ref('news') }}
group by all
