"""The rows on how often LLMs alter texts and on what that does to people, as sentences."""

from analysis.words.people import on_alterations, on_choices
from bais.warehouse import is_public, records

ALTERED = """
from people.alteration_and_people
where study = $study and technique = 'no_technique' and rate is not null and llm is not null
order by llm, alteration, period desc
"""
STUDIES = """
select study, estimate, low, high, coalesce(n_participants, 0) as n_participants,
    coalesce(effects.n_choices, 0) as n_choices, coalesce(reason, 'nobody_counts') as reason
from (select distinct study from people.human_choices)
left join (from people.human_choice_effects where method = 'gee_exchangeable') as effects using (study)
order by study
"""


def sentences_on_alterations(warehouse, study: str) -> list[str]:
    """Say of each LLM asked with no technique how often it alters what it is given."""
    is_there = is_public(warehouse, "alteration_and_people")
    return on_alterations(records(warehouse, ALTERED, {"study": study})) if is_there else []


def sentences_on_people(warehouse) -> dict[str, str]:
    """Say of each study of people what reading a summary does to their choices."""
    rows = records(warehouse, STUDIES) if is_public(warehouse, "human_choice_effects") else []
    return {row["study"]: on_choices(row) for row in rows}
