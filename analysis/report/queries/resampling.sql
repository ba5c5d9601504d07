select study, method, seed, n_draws, max(margin) as margin, count(*) as n_rows
from inference.decisions
where paradigm = 'anchoring'
group by all
order by all
