select study, domain, goal, llm, loss from inference.decisions
where paradigm = 'anchoring' and technique = 'no_technique' and loss is not null
order by study, domain, goal, llm
