-- One row per trial that is published: it is admitted, and nobody withdrew it.
select * from {{ ref('int_trials_admitted') }}
anti join {{ ref('stg_withdrawn_trials') }} using (trial_id)
