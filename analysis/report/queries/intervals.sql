select * from inference.intervals
where llm is null and metric = 'percent_of_baseline' and weighting = 'llm' and row_set = 'accepted'
    and baseline_scope = 'pooled' and method = 'trial'
order by study, domain, technique, anchor_direction
