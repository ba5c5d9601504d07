-- One row per batch, published or not, and technique whose trials are older than what the tables count: of a study's
-- vignette, and of its technique, that is the highest version with published trials. What names no version has the
-- first.
with asked as (
    select distinct
        trials.batch_id,
        trials.study,
        trials.vignette,
        trials.technique,
        coalesce(verdicts.is_published, false) as is_published
    from {{ ref('stg_trials') }} as trials
    left join {{ ref('stg_batch_verdicts') }} as verdicts on trials.batch_id = verdicts.batch_id
    anti join {{ ref('stg_withdrawn_trials') }} as withdrawn on trials.trial_id = withdrawn.trial_id
),

versions as (
    select
        asked.*,
        coalesce(batches.vignette_version, 1) as vignette_version,
        coalesce(batches.technique_versions[asked.technique], 1) as technique_version,
        max(case when asked.is_published then vignette_version end)
            over (partition by asked.study, asked.vignette) as highest_of_vignette
    from asked
    left join {{ ref('stg_batches') }} as batches using (batch_id)
),

highest as (
    select
        *,
        -- a technique of an outdated vignette says nothing of what is asked now
        max(case when is_published and vignette_version = highest_of_vignette then technique_version end)
            over (partition by study, technique) as highest_of_technique
    from versions
)

select batch_id, technique, vignette_version, highest_of_vignette, technique_version, highest_of_technique from highest
where vignette_version < highest_of_vignette or technique_version < highest_of_technique
