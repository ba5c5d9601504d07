"""Where something was asked: the studies and domains of a paradigm, and what its goals measure."""

import json

from analysis.leading import DIFFERS, SAME, leads, shipped
from analysis.words import codes
from bais.warehouse import (
    ASKED_OF,
    IS_A_STUDY,
    NOTHING_YET,
    records,
    refuse_not_public,
    refuse_paradigm,
    refuse_unknown,
    values,
)  # fmt: skip
from ingest.warehouse import printable

WORDS = {"none": NOTHING_YET, "by_part": True}  # a part of a name is enough to be told the whole
# The largest study first, those of LLMs before simulated ones; of a paradigm without goals all domains together.
ASKED = f"""
with trials as (
    select * exclude (domain), case when has_goals or list_contains($shipped, paradigm) then domain end as domain
    from {ASKED_OF}
    left join (select distinct study, paradigm, true as has_goals from staging.stg_paradigms where goals is not null)
        using (study, paradigm)
    where {IS_A_STUDY} and paradigm = coalesce($paradigm, paradigm) and role is null and left_out_because is null
)

select study, paradigm, domain, null as measure, list(distinct llm order by llm) as llms,
    list(distinct vignette order by vignette) as vignettes,
    list(distinct temperature order by temperature) as temperatures, bool_or(temperature is null) as has_none,
    list(distinct source order by source) as sources, bool_and(source = 'simulated') as is_simulated
from trials group by study, paradigm, domain
order by bool_or(is_simulated) over (partition by study), sum(sum(n_runs)) over (partition by study) desc, study,
    paradigm, domain
"""
GOALS_STATED = """
select relative_to, goals from staging.stg_paradigms
where study = coalesce($study, study) and paradigm = $paradigm and goals is not null
"""
PROMPTS = """
select vignette, differs_by from intermediate.int_baseline_prompts
where study = $study and paradigm = $paradigm and domain = $domain order by vignette
"""
LEADING = """
select distinct goal from inference.decisions
where study = $study and paradigm = $paradigm and domain = $domain and is_primary
order by goal
"""


def asked(warehouse, paradigm: str | None = None) -> list[dict]:
    """Return each study and domain in which a paradigm, or any, was asked."""
    return records(warehouse, ASKED, {"paradigm": paradigm, "shipped": list(codes.SHIPPED)})


def asked_places(warehouse, paradigm: str, study: str | None, domain: str | None) -> list[dict]:
    """Return each study and domain in which a paradigm was asked, or refuse what is meant and is elsewhere."""
    places = asked(warehouse, paradigm)
    domains = {place["domain"] for place in places if study in (None, place["study"])}
    refuse_paradigm(warehouse, paradigm, domain, study, domains)
    refuse_not_public(warehouse, study, {place["study"] for place in places})
    return places


def places_meant(places: list[dict], study: str | None, domain: str | None, llm: str | None = None) -> list[dict]:
    """Return the places of a domain, first those that asked an LLM; a study or domain that is none is refused."""
    refuse_unknown("study", study, dict.fromkeys(place["study"] for place in places), **WORDS)
    where = f" in study {printable(study)}" if study else ""
    places = [place for place in places if study in (None, place["study"])]
    refuse_unknown("domain", domain, sorted({place["domain"] for place in places} - {None}), where, **WORDS)
    return sorted((place for place in places if place["domain"] == domain), key=lambda place: llm not in place["llms"])


def goals_of(
    warehouse, study: str | None, paradigm: str, domain: str | None = None
) -> tuple[str | None, dict[str, codes.Goal]]:
    """Return the arm that the goals of a paradigm are in per cent of, and what they measure, the leading one first.

    A paradigm without goals has none. Without a study, those of any count. Which one leads hangs on the domain; without
    one, or where nothing was decided, it is the one that leads where unanchored prompts differ.
    """
    base, stated = _stated(warehouse, study, paradigm)
    words = codes.goals_in_words(stated, base) if base else codes.SHIPPED.get(paradigm, {})
    keys = {"study": study, "paradigm": paradigm, "domain": domain}
    leading = values(warehouse, LEADING, keys) or [goal["goal"] for goal in stated if leads(goal, DIFFERS)]
    return base, codes.leading_first(words, leading)


def prompts_of(warehouse, place: dict) -> dict[str, str | None]:
    """Return by what the unanchored prompt of each vignette differs from anchored ones, if a goal leads for that."""
    _, stated = _stated(warehouse, place["study"], place["paradigm"])
    if all(leads(goal, SAME) == leads(goal, DIFFERS) for goal in stated):
        return {}
    return {row["vignette"]: row["differs_by"] for row in records(warehouse, PROMPTS, place)}


def _stated(warehouse, study, paradigm):
    """Return the arm that the goals of a paradigm are in per cent of, where it names one, and its goals as stated."""
    base, stated = None, []
    for row in records(warehouse, GOALS_STATED, {"study": study, "paradigm": paradigm}):
        base, stated = row["relative_to"], json.loads(row["goals"])
    if not stated and paradigm in codes.SHIPPED:
        stated = [{"goal": name} | goal for name, goal in shipped()["goals"].items()]
    return base, stated
