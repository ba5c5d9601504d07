-- Nobody is lost: every trial that was asked was answered or is counted under the reason why not, and all of published
-- batches are there or quarantined, but for those in whose place a version has others, and those that were withdrawn.
with per_cell as (
    select study, n_asked, n_answered + n_refused + n_unparsed + n_out_of_range + n_failed as n_accounted
    from {{ ref('attrition') }}
),

per_study as (
    select study, sum(n_asked) as n_asked, sum(n_accounted) as n_accounted from per_cell
    group by all
),

trials as (
    select trials.trial_id, trials.study, coalesce(versions.batch_id, trials.batch_id) as batch_id
    from {{ source('raw', 'trials') }} as trials
    left join {{ ref('int_versions_resolved') }} as versions using (trial_id)
    anti join {{ ref('stg_withdrawn_trials') }} using (trial_id)
    where versions.superseded_by_version is null
),

landed as (
    select trials.study, count(*) as n_landed
    from trials
    inner join {{ ref('stg_batch_verdicts') }} as verdicts
        on trials.batch_id = verdicts.batch_id and verdicts.is_published
    left join {{ ref('stg_flagged_trials') }} as flags
        on trials.trial_id = flags.trial_id and trials.batch_id = flags.batch_id
    where flags.is_quarantined is not true
    group by all
)

select *
from per_study
full join landed using (study)
where n_asked is distinct from n_landed or n_accounted is distinct from n_landed
