select * from marts.conditions
where paradigm = 'anchoring' and is_baseline and row_set = 'accepted' and temperature_scope = 'pooled' and n_trials > 0
order by study, domain, vignette, llm
