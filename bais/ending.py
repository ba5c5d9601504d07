"""How `make run` ends: what came out, what to look at first, the file to open and the next command.

python -m bais.ending COMMAND REPORTED

COMMAND is how `bais` is called here, REPORTED the file that holds what `bais report` printed.
"""

import re
import sys
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from shlex import quote

from analysis.words import codes
from analysis.words.codes import listed
from bais.places import asked
from bais.terminal import lay_out, pairs, reading_width, say
from bais.warehouse import is_public, marts, records

MOST_ROWS = 8
FEWEST_VENDORS = "too_few_vendors"
# what is decided by the leading goal on LLMs like those asked, by a study in which an LLM was asked
DECIDED = """
select study, paradigm, domain, coalesce(display_name, technique) as name, decision, certainty, n_llms, n_vendors
from inference.decisions left join seeds.techniques using (technique)
where llm is null and comparison = 'control' and is_primary and list_contains($studies, study)
order by n_vendors desc, n_llms desc, study, paradigm, domain, name
"""
SCORED = "select study, count(distinct llm) as n_llms from papers.anchor_effects group by study order by study"
# of claims about studies that are there
CHECKED = """
select
    count(*) filter (where holds = 'holds') as n_hold, count(*) filter (where holds = 'contradicted') as n_contradicted
from marts.claim_checks where is_first_place and recomputes in ('yes', 'no') and rests_on in ('trials', 'scores')
"""


def main(command: str, reported: str) -> int:
    """Say in a screen what a run came to, and what can be done next."""
    with marts() as warehouse:
        places = asked(warehouse)
        real = list(dict.fromkeys(place["study"] for place in places if not place["is_simulated"]))
        decided = records(warehouse, DECIDED, {"studies": real}) if is_public(warehouse, "decisions") else []
        scored = records(warehouse, SCORED) if is_public(warehouse, "anchor_effects") else []
        (claims,) = records(warehouse, CHECKED) if is_public(warehouse, "claim_checks") else [{}]
    page = _page(Path(reported))
    print()
    if real or scored:
        _say_real(command, page, [place for place in places if not place["is_simulated"]], decided, scored, claims)
    else:
        _say_simulated(command, page, places)
    return 0


def _page(reported):
    """Return the path that the report says first."""
    first = reported.read_text(encoding="utf-8").partition("\n")[0] if reported.exists() else ""
    return re.split(r"(?<=\.html)\b", first, maxsplit=1)[0] or None


def _say_real(command, page, places, decided, scored, claims):
    by_place = [(place, list(rows)) for place, rows in groupby(decided, itemgetter("study", "paradigm", "domain"))]
    alike = {}
    for (study, paradigm, domain), found in by_place:
        said = (study, found[0]["n_llms"], found[0]["n_vendors"], _shown(found))
        alike.setdefault(said, []).append(domain or paradigm)
    rows = [
        (study, ", ".join(domains), n_llms, n_vendors, shown)
        for (study, n_llms, n_vendors, shown), domains in alike.items()
    ]
    rows += [(row["study"], "scores", row["n_llms"], None, "see `bais headlines`") for row in scored]
    heads = ["study", "domain", "LLMs", "vendors", "shown for LLMs like these"]
    if rows:
        print(lay_out(heads, rows[:MOST_ROWS], width=reading_width(), null=""))
        print()
    following = {}
    if by_place:
        (study, paradigm, domain), found = by_place[0]
        n_llms, n_vendors = (found[0][f"n_{what}"] for what in ("llms", "vendors"))
        following["look first at"] = f"{domain or paradigm} of {study} ({n_llms} LLMs of {n_vendors} vendors)"
        following["next"] = f"{command} recommend{_of_place(study, paradigm, domain)}"
    elif places:
        following["look first at"] = f"the answers of {places[0]['study']}: nothing in it can be compared yet"
        following["next"] = f"{command} trials --study {quote(places[0]['study'])}"
    else:
        following["look first at"] = f"{scored[0]['study']}, of which each answer's probability was read"
        following["next"] = f"{command} headlines --study {quote(scored[0]['study'])}"
    following = {"look first at": following["look first at"], "open": page, "next": following["next"]}
    if claims.get("n_hold") or claims.get("n_contradicted"):
        said = (
            f"of printed numbers and sentences {claims['n_hold']:,} hold, {claims['n_contradicted']:,} are contradicted"
        )
        following["on papers"] = f"{command} claims ({said})"
    following["on doubts"] = f"{command} check (what the audit found wrong)"
    _say(following)


def _shown(found):
    """Say which techniques do what by the leading goal."""
    if all(row["certainty"] == FEWEST_VENDORS for row in found):
        return "nothing: LLMs of 5 vendors are needed"
    does = {}
    for row in found:
        does.setdefault(row["decision"], []).append(row["name"])
    said = [
        f"{codes.OF_AN_LLM[decision]}: {listed(dict.fromkeys(does[decision]))}"
        for decision in codes.OF_AN_LLM
        if decision in does and decision not in ("no_evidence", None)
    ]
    unclear = dict.fromkeys([*does.get("no_evidence", ()), *does.get(None, ())])
    return "; ".join([*said, *([f"unclear: {listed(unclear)}"] if unclear else [])])


def _of_place(study, paradigm, domain):
    of_domain = f" --domain {quote(domain)}" if domain else ""
    return f"{codes.option(paradigm)}{of_domain} --study {quote(study)}"


def _say_simulated(command, page, places):
    say("No LLM was asked: all of this is of SIMULATED respondents, whose biases are stated. What you can do next:")
    print()
    following = {"see a report": page}
    if places:
        place = places[0]
        following["ask what helps"] = (
            f"{command} recommend{_of_place(place['study'], place['paradigm'], place['domain'])}"
        )
    _say(
        following
        | {
            "get real answers": f"{command} import --download && {command} build",
            "bring your own": f"{command} import DIR && {command} build",
            "plan a study": f"{command} plan judicial (what it asks and costs; nothing is asked)",
            "ask LLMs": f"{command} collect judicial (with OPENROUTER_API_KEY)",
        }
    )


def _say(following):
    following["what steps said"] = "logs/run/"
    print(pairs(((name, value) for name, value in following.items() if value), width=reading_width()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
