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

not_shown as (
    select
        trials.trial_id,
        withdrawn.withdrawn_at,
        case
            when verdicts.is_published then 'withdrawn'
            when verdicts.act = 'reject' then 'rejected'
            else 'held_back'
        end as fate
    from {{ ref('stg_trials') }} as trials
    left join {{ ref('int_versions_resolved') }} as versions using (trial_id)
    left join {{ ref('stg_batch_verdicts') }} as verdicts
        on coalesce(versions.batch_id, trials.batch_id) = verdicts.batch_id
    left join {{ ref('stg_withdrawn_trials') }} as withdrawn on trials.trial_id = withdrawn.trial_id
    anti join {{ ref('int_trials_published') }} as published on trials.trial_id = published.trial_id
    anti join {{ ref('stg_left_out_trials') }} as left_out on trials.trial_id = left_out.trial_id
    anti join {{ ref('int_prompts_outdated') }} as outdated
        on
            coalesce(versions.batch_id, trials.batch_id) = outdated.batch_id
            and trials.technique = outdated.technique
    where versions.superseded_by_version is null and verdicts.is_older is not true
),

asked as (
    select * from shown
    union all by name
    select study, paradigm, domain, fate, if(fate = 'withdrawn', withdrawn_at, null) as withdrawn_at
    from {{ ref('int_trials_read') }}
    inner join not_shown using (trial_id)
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
