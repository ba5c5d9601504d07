-- One row per article: the falsified text that is its counterpart, and why the two cannot be asked about. Of several
-- texts the one counts that is farthest on its way, and of these the one that came first.
with counterparts as (
    select
        *,
        case reason when 'no_negation' then 3 when 'not_validated' then 2 when 'too_few_validators' then 1 else 0 end
            as n_steps_left,
        count(*) over (partition by article_id) as n_falsifications
    from {{ ref('int_falsifications_validated') }}
    qualify row_number() over (partition by article_id order by n_steps_left, ordinal, falsification_id) = 1
)

select
    news.*,
    coalesce(counterparts.n_falsifications, 0) as n_falsifications,
    counterparts.falsification_id,
    counterparts.falsified_description,
    case
        when news.api_description is null then 'no_description'
        when counterparts.falsification_id is null then 'not_falsified'
        else counterparts.reason
    end as reason
from {{ ref('stg_news') }} as news
left join counterparts using (article_id)
