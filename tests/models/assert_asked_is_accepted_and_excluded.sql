-- Nobody is lost: every trial that was asked was answered or is counted under the reason why not, and all that are
-- published, or are of a version that claims are about, are there, quarantined or left out by their study.
with per_cell as (
    select study, n_asked, n_answered + n_refused + n_unparsed + n_out_of_range + n_failed as n_accounted
    from {{ ref('attrition') }}
),

per_study as (
    select study, sum(n_asked) as n_asked, sum(n_accounted) as n_accounted from per_cell
    group by all
),

counting as (
    select study, trial_id, batch_id from {{ ref('int_trials_published') }}
    union all
    select cited_study as study, trial_id, batch_id from {{ ref('int_trials_cited') }}
),

landed as (
    select counting.study, count(*) as n_landed
    from counting
    left join {{ ref('stg_flagged_trials') }} as flags using (trial_id, batch_id)
    anti join {{ ref('stg_left_out_trials') }} as left_out on counting.trial_id = left_out.trial_id
    where flags.is_quarantined is not true
    group by all
)

select *
from per_study
full join landed using (study)
where n_asked is distinct from n_landed or n_accounted is distinct from n_landed
