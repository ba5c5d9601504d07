-- Every answer that was asked for became one thing, and attrition and post_hoc_changes count the same of the same
-- answers.
with accounted as (
    select
        *,
        n_asked - n_held_back - n_rejected - n_withdrawn as n_let_through,
        n_counted + n_unparsed + n_refused + n_out_of_range + n_failed as n_told
    from {{ ref('shortfalls') }}
),

attrition as (
    select
        study,
        paradigm,
        domain,
        sum(n_asked) as n_asked,
        sum(n_answered) as n_answered,
        sum(n_unparsed) as n_unparsed,
        sum(n_refused) as n_refused,
        sum(n_out_of_range) as n_out_of_range,
        sum(n_failed) as n_failed
    from {{ ref('attrition') }}
    group by all
),

changes as (
    select study, paradigm, domain, sum(n_trials) as n_withdrawn from {{ ref('post_hoc_changes') }}
    where change = 'withdrawn'
    group by all
)

select study, paradigm, domain
from accounted
full join attrition using (study, paradigm, domain)
full join changes using (study, paradigm, domain)
where
    n_told is distinct from n_let_through
    or n_let_through is distinct from coalesce(attrition.n_asked, 0)
    or n_counted is distinct from coalesce(attrition.n_answered, 0)
    or accounted.n_unparsed is distinct from coalesce(attrition.n_unparsed, 0)
    or accounted.n_refused is distinct from coalesce(attrition.n_refused, 0)
    or accounted.n_out_of_range is distinct from coalesce(attrition.n_out_of_range, 0)
    or accounted.n_failed is distinct from coalesce(attrition.n_failed, 0)
    or accounted.n_withdrawn is distinct from coalesce(changes.n_withdrawn, 0)
