select * from inference.predictions
where paradigm = 'anchoring'
order by study, domain, goal, technique, llm nulls first
