select study, scoring_set, llm, variation, anchor_regime, specification, abss, is_in_means, reason
from papers.sensitivity_scores
where specification in ('published', 'normalised_blocks_of_ten', 'recommended')
order by study, llm, scoring_set, variation, specification
