-- each LLM's mean over questions, with V0 among them and without, by the specifications of document D's score
select study, has_v0, specification, metric, scoring_set, llm, estimate, low, high, n_questions, reason
from papers.anchor_sensitivities
where
    evidence_from = 'scores' and comparison = 'anchors'
    and specification in ('published', 'normalised_blocks_of_ten', 'recommended')
order by study asc, metric asc, has_v0 asc, specification asc, estimate desc nulls last, llm asc, scoring_set asc
