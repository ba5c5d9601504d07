select * from inference.predictions
order by study, domain, metric, technique, llm nulls first
