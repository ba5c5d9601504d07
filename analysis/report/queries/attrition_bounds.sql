select * from marts.attrition_bounds
where llm is null
order by study, domain, technique
