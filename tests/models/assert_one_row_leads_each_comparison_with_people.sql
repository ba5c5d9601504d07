-- Where anything is known of people, one row of each LLM, vignette, outcome and contrast leads, and else none.
select study, paradigm, llm, vignette, outcome, arm, arm_b
from {{ ref('human_comparisons') }}
group by all
having count(*) filter (where leads) != (count(human_estimate) > 0)::integer
