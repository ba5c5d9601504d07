-- One row per study, domain and technique: whether the texts of its answers are kept, whole or cut.
with trials as (
    select * from {{ ref('int_trials_directed') }}
    where not is_quarantined
)

select study, domain, technique, bool_or(text_kept != 'none') as has_text from trials
group by all
union all
select study, domain, 'sacd_initial' as technique, bool_or(source != 'recorded') as has_text from trials
where technique = 'sacd'
group by all
