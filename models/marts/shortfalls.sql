-- noqa: disable=LT02
-- One row per study, paradigm and domain: what became of the answers that were asked for, each counted once. An answer
-- for which another one stands in its place, one that its study asks no more and one to older words are not asked for.
with shown as (
    select
        study,
        paradigm,
        domain,
        case when is_quarantined then 'held_back' else status end as fate,
        case when fate = 'unparsed' then trim(regexp_replace(response_text, '\s+', ' ', 'g')) end as unread,
        null::timestamptz as withdrawn_at
    from {{ ref('int_trials_shown') }}
    where left_out_because is null
),

asked as (
    select * from shown
    union all by name
    select study, paradigm, domain, fate, if(fate = 'withdrawn', withdrawn_at, null) as withdrawn_at
    from {{ ref('int_trials_read') }}
    inner join {{ ref('int_trials_not_shown') }} using (trial_id)
),

shortened as (
    select * replace (if(length(unread) > 60, left(unread, 59) || '…', unread) as unread) from asked
),

texts as (
    select study, paradigm, domain, unread, count(*) as n from shortened
    where unread is not null
    group by all
),

commonest as (
    select
        study,
        paradigm,
        domain,
        first(unread order by n desc, unread asc) as commonest_unread,
        max(n) as n_commonest_unread
    from texts
    group by all
)

select
    study,
    paradigm,
    domain,
    count(*) as n_asked,
    count(*) filter (where fate = 'answered') as n_counted,
    {% for fate in ['held_back', 'rejected', 'withdrawn', 'unparsed', 'refused', 'out_of_range', 'failed'] -%}
        count(*) filter (where fate = '{{ fate }}') as n_{{ fate }},
    {% endfor -%}
    any_value(commonest_unread) as commonest_unread,
    coalesce(any_value(n_commonest_unread), 0) as n_commonest_unread,
    min(withdrawn_at) as first_withdrawn_at,
    max(withdrawn_at) as last_withdrawn_at
from shortened
left join commonest using (study, paradigm, domain)
group by all
