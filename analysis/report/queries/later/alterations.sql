select study, llm, technique, alteration, period, rate, rate_low, rate_high, reason
from people.alteration_and_people
where llm is not null
order by study asc, alteration asc, llm asc, technique != 'no_technique' asc, technique asc, period desc
