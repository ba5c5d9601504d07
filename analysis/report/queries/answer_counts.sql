select study, domain, vignette, llm, technique, arm, value, sum(n_trials)::bigint as n_trials
from marts.counts
where paradigm = 'anchoring' and n_trials > 0 and row_set = 'accepted' and response_source = 'reparsed'
    and arm in ('none', 'low', 'high')
group by all
order by all
