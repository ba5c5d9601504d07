with recommended as (
    select study, domain, technique, goal, control, interval_decision as now
    from inference.multiverse
    where paradigm = 'anchoring' and is_recommended
),

told as (
    select *, case when interval_decision != now and not contains(switch, 'left_out') then switch end as turned
    from inference.multiverse
    inner join recommended using (study, domain, technique, goal, control)
    where comparison = 'control'
)

select
    study, domain, technique, goal, control, any_value(gain) filter (where is_recommended) as gain,
    min(gain) as least, max(gain) as most, max(n_specifications) as n_specifications,
    max(n_same_decision) as n_same_decision, max(n_left_out) as n_left_out, max(n_left_out_same) as n_left_out_same,
    max(carried_by) as carried_by, max(reason) as reason,
    string_agg(distinct turned, ', ' order by turned) as changed_by
from told
group by all
order by study, domain, goal, technique
