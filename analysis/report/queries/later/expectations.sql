-- what an LLM would answer under each anchor, with the band of single answers
select study, scoring_set, llm, variation, anchor_direction, anchor, soft_ev, band_low, band_high, reason
from papers.soft_expectations
where evidence_from = 'scores' and specification = 'recommended'
order by study, llm, scoring_set, variation, anchor
