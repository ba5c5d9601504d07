select * from inference.decisions
where paradigm = 'anchoring' and llm is not null and comparison = 'control'
order by study, domain, llm, goal, technique, control
