select * from marts.technique_rankings
order by study, domain, llm nulls first, technique
