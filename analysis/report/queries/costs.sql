select study, llm, technique, calls_per_trial, tokens_out_per_answer, cost_usd_per_answer from marts.technique_costs
order by all
