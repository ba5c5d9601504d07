select distinct study, paradigm from marts.attrition
where not paradigm = 'anchoring' and role is null
order by all
