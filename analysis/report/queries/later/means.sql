select study, scoring_set, llm, specification, metric, estimate, low, high, n_questions, reason
from inference.anchor_sensitivities
where
    evidence_from = 'scores' and specification = 'published' and metric = 'delta_ev' and comparison = 'anchors'
order by study asc, estimate desc nulls last, llm asc
