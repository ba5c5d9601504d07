select * from marts.effects
where paradigm = 'anchoring' and vignette is null
order by study, domain, goal, technique, llm
