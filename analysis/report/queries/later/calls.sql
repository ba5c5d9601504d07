select * from papers.anchor_calls
where evidence_from = 'scores'
order by study, llm nulls first, scoring_set, variation nulls first
