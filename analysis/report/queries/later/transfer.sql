select transfer.*
from inference.transfer
left join staging.stg_paradigms as here using (study, paradigm, measure)
left join staging.stg_paradigms as there
    on other_study = there.study and other_paradigm = there.paradigm and other_measure = there.measure
where is_primary and coalesce(here.is_leading, true) and coalesce(there.is_leading, true)
order by study, paradigm, domain, measure, other_study, other_paradigm, other_domain, other_measure, goal
