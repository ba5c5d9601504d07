select
    study, domain, llm, technique, anchor_direction, avg(percent_of_baseline) as percent,
    avg(deviation_pp) as deviation
from papers.technique_effects
where row_set = 'accepted' and baseline_scope = 'pooled' and temperature_scope = 'pooled' and weighting = 'llm'
    and percent_of_baseline is not null
group by all
order by all
