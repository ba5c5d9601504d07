select
    study, comparison, scoring_set, llm, scoring_set_b, llm_b, metric, estimate, low, high, n_questions, n_comparisons,
    reason
from papers.anchor_sensitivities
where
    evidence_from = 'scores' and specification = 'published' and not has_v0 and (comparison != 'llms' or llm < llm_b)
order by study asc, comparison asc, metric asc, estimate desc nulls last, llm asc, llm_b asc
