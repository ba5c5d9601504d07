select distinct study, domain, vignette, response_unit from marts.trials
order by all
