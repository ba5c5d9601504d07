-- what has no trials was published as counts
select distinct study, paradigm from marts.attrition
where not paradigm = 'anchoring' and role is null
union
select distinct study, paradigm from marts.counts
anti join marts.attrition using (study)
where not paradigm = 'anchoring' and not contains(study, '@')
order by all
