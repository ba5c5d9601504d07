select * from marts.parse_disagreements
order by study, llm, vignette, technique, trial_id
