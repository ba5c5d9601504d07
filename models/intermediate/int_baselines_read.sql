-- One row per study, vignette, item and LLM: the mean of its answers without anchor and technique in published batches,
-- less those that are quarantined. It tells low anchors from high ones; where trials have phases, it is the one that
-- the anchors were derived from. The baselines that results are compared with are in int_baselines_scoped.
select
    study,
    vignette,
    item,
    llm,
    avg(number_if_recorded) as baseline,
    stddev_samp(number_if_recorded) as sd_baseline
from {{ ref('int_trials_identified') }}
where
    paradigm = 'anchoring'
    and technique = 'no_technique' and anchor_value is null and status_if_recorded = 'answered'
    and (phase is null or phase = 'baselines') and not is_quarantined
group by all
