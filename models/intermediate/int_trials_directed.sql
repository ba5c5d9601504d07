-- One row per trial of the paradigm anchoring that its study has not left out: what all that is said of anchors,
-- baselines and losses is made of.
select * from {{ ref('int_trials_treated') }}
where paradigm = 'anchoring' and left_out_because is null
