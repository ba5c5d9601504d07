select study, domain, vignette, llm, technique, anchor_direction, response, sum(n_trials)::bigint as n_trials
from marts.response_counts
where row_set = 'accepted' and response_source = 'reparsed'
    and anchor_direction in ('none', 'low', 'high')
group by all
order by all
