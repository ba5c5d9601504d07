select * from inference.rank_probabilities
where llm is null
order by study, domain, metric, technique, control
