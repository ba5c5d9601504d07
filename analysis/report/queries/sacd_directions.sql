select study, domain, llm, anchor_direction, avg(percent_of_baseline) as percent from papers.technique_effects
where llm is not null and technique = 'sacd' and anchor_direction in ('low', 'high') and row_set = 'accepted'
    and baseline_scope = 'pooled' and temperature_scope = 'pooled' and weighting = 'llm'
    and percent_of_baseline is not null
group by all
order by all
