select
    study, count(distinct llm) as n_llms, count(distinct variation) as n_variations,
    count(distinct question) as n_questions
from papers.anchor_effects
where evidence_from = 'scores' and not contains(study, '@')
group by study
order by study
