-- One row per trial of a version that the claims of a document are about, where the study itself no longer holds just
-- the trials of that version: the batch by whose verdict it counts, and what it and its study are called. That the
-- version is an older one, which is never published, does not count here.
with cited as (
    select distinct study, label, version_id, cited_study from {{ ref('int_versions_cited') }}
    where version_id is not null
),

held as (
    select cited.*, entries.trial_id, entries.batch_id
    from {{ ref('int_entries_held') }} as entries
    inner join cited using (version_id)
    semi join {{ ref('stg_batch_verdicts') }} as verdicts
        on entries.batch_id = verdicts.batch_id and verdicts.has_passed
    anti join {{ ref('stg_withdrawn_trials') }} as withdrawn on entries.trial_id = withdrawn.trial_id
),

published as (
    select cited.cited_study, trials.trial_id
    from {{ ref('int_trials_published') }} as trials
    inner join cited using (study)
),

differing as (
    select distinct coalesce(held.cited_study, published.cited_study) as cited_study
    from held
    full join published using (cited_study, trial_id)
    where held.trial_id is null or published.trial_id is null
)

select cited_study, trial_id || '@' || label as cited_trial_id, trial_id, batch_id from held
semi join differing using (cited_study)
