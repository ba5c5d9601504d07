select study, domain, technique, sum(columns('n_.*'))::bigint from marts.attrition
where paradigm = 'anchoring'
group by all
order by study, domain, technique
