select
    study, specification, count(delta_ev) as n,
    count(*) filter (where call_behaviour = 'B+') as n_raised,
    count(*) filter (where contains(stars_behaviour, '**')) as n_significant
from papers.anchor_effects
where evidence_from = 'scores' and specification in ('published', 'blocks_of_ten', 'recommended')
group by all
order by study, specification
