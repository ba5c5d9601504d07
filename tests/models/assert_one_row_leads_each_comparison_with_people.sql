-- Where anything is known of people, one row of each LLM, vignette, outcome, instrument and contrast leads, else none.
select study, paradigm, llm, vignette, outcome, instrument, arm, arm_b
from {{ ref('human_comparisons') }}
group by all
having count(*) filter (where leads) != (count(human_estimate) > 0)::integer
