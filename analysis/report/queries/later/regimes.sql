-- a question under the standard anchors beside the same one under its own
select
    study, scoring_set, llm, question,
    avg(delta_ev) filter (where anchor_regime = 'standard') as delta_ev_standard,
    avg(delta_ev) filter (where anchor_regime = 'different_anchors') as delta_ev_different
from papers.anchor_effects
where evidence_from = 'scores' and specification = 'published'
group by all
having count(distinct anchor_regime) = 2
order by study, llm, scoring_set, question
