select * from inference.decisions
where paradigm = 'anchoring' and llm is null
order by study, domain, goal, technique, control
