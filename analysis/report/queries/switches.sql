select
    study, domain, technique, control, switch, excluded_llm, decision, decision_asked,
    case switch
        when 'reading' then response_source
        when 'row_set' then row_set
        when 'baseline' then baseline_scope
        when 'refusals' then refusals
    end as value
from inference.multiverse
where paradigm = 'anchoring' and comparison = 'control' and goal = 'displacement' and not is_recommended
order by study, domain, technique, control, switch, excluded_llm, value
