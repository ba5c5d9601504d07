select study, method, seed, n_draws, max(margin_pp) as margin_pp, count(*) as n_rows
from inference.rank_probabilities
group by all
order by all
