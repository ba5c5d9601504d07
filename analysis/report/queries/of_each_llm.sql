select * from inference.rank_probabilities
where llm is not null and comparison = 'control'
order by study, domain, llm, metric, technique, control
