with recommended as (
    select study, domain, technique, goal, control, decision as now, decision_asked as now_asked
    from inference.multiverse
    where paradigm = 'anchoring' and is_recommended
)

select
    study, domain, technique, goal, control, any_value(gain) filter (where is_recommended) as gain,
    min(gain) as least, max(gain) as most, max(n_specifications) as n_specifications,
    max(n_same_decision) as n_same_decision, max(n_same_decision_asked) as n_same_decision_asked,
    max(carried_by) as carried_by, max(carried_by_asked) as carried_by_asked, max(reason) as reason,
    string_agg(distinct switch, ', ' order by switch) filter (where decision != now) as changed_by,
    string_agg(distinct switch, ', ' order by switch) filter (where decision_asked != now_asked)
        as changed_by_asked
from inference.multiverse inner join recommended using (study, domain, technique, goal, control)
where comparison = 'control'
group by all
order by study, domain, goal, technique
