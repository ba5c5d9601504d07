select * from marts.baselines
where temperature_scope = 'pooled'
order by study, domain, vignette, llm
