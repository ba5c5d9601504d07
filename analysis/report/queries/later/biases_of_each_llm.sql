select
    study, paradigm, measure, instrument, arm, arm_b, technique, llm, value
from inference.outcome_contrasts
where level = 'items' and row_set = 'accepted' and weighting = 'llm' and llm is not null and value is not null
order by study, paradigm, measure, instrument, arm, arm_b, technique, llm
