with recommended as (
    select study, domain, technique, goal, control, interval_decision as now
    from inference.multiverse
    where paradigm = 'anchoring' and is_recommended
),

goals_that_lead as (
    select study, paradigm, domain, goal from marts.effects
    where leads
)

select
    study, domain, technique, control, switch, excluded_llm, excluded_vendor, interval_decision as decision, now,
    case switch
        when 'reading' then response_source
        when 'row_set' then row_set
        when 'baseline' then baseline_scope
        when 'refusals' then refusals
        when 'vendor_left_out' then excluded_vendor
    end as value
from inference.multiverse
inner join recommended using (study, domain, technique, goal, control)
semi join goals_that_lead using (study, paradigm, domain, goal)
where
    paradigm = 'anchoring' and comparison = 'control' and not is_recommended
    -- who leaves too few vendors behind changes nothing by being left out
    and not (contains(switch, 'left_out') and contains(coalesce(reason, ''), 'too_few_vendors'))
order by study, domain, technique, control, switch, excluded_llm, value
