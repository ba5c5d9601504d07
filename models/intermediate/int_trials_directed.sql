-- One row per trial of the paradigm anchoring: what all that is said of anchors, baselines and losses is made of.
select * from {{ ref('int_trials_treated') }}
where paradigm = 'anchoring'
