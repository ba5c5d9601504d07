-- One row per trial that counts: of those that are shown, the ones that their study has not left out. All that is
-- decided comes from these; marts.trials shows the others too.
select * from {{ ref('int_trials_shown') }}
where left_out_because is null
