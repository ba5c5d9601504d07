"""`bais recommend`: which debiasing technique to use against a bias, which not, and how sure that is."""

import click

from analysis.words import codes
from analysis.words.advice import advise, in_brief, on_absence, why
from analysis.words.changes import counted
from analysis.words.headlines import SIMULATED, other_biases, sentences_on_unread
from analysis.words.people import beside_llms
from analysis.words.shortfalls import BY_HAND, SENTENCES
from analysis.words.shortfalls import sentences as sentences_on_shortfalls
from bais.check import words_of_checks
from bais.evidence import evidence_on, shortfalls_in_short
from bais.gains import say_biases, say_gains, say_goals, say_places
from bais.options import json_option
from bais.places import asked_places, goals_of, places_meant
from bais.sources import unread_lines
from bais.terminal import say, say_each, say_json, similar
from bais.warehouse import (
    ASKED_OF,
    COMPARED,
    NOTHING_YET,
    count,
    is_public,
    llm_named,
    marts,
    records,
    refuse_unknown,
    values,
)
from ingest.warehouse import UserError, printable

FEW = 2  # sentences on what is not counted that are told without `--why`; of more the first, and what people took out
# what papers print, by the goal that asks the same of a technique and in which errors cannot cancel
OF_PAPERS = {"deviation": "displacement", "susceptibility": "gap", "madb": "error"}
WITHOUT_TRIALS = {
    "people.human_choices": "choices of people and no trial of an LLM, so that nothing can be recommended: `bais "
    "headlines` says what a summary does to them",
    "content.news": "news and no trial of an LLM: docs/how-to/keep-a-news-set.md says how to ask LLMs about them",
}
OTHERS = f"""
select distinct paradigm from {ASKED_OF} semi join ({COMPARED}) using (study, paradigm)
where study = coalesce($study, study) and paradigm != $paradigm and role is null
    and (source = 'simulated') = $is_simulated
order by paradigm
"""
MEASURED = """
select distinct measure from inference.outcome_contrasts
where study = $study and paradigm = $paradigm and n_trials > 0 order by all
"""
PEOPLE = """
from (
    select *, count(distinct llm) filter (llm_estimate is null and contains(reason, 'zero_variance'))
        over (partition by study, paradigm, outcome, arm, arm_b, vignette, measure) as n_unvarying
    from marts.human_comparisons
)
where study = $study and paradigm = $paradigm and outcome = coalesce($measure, outcome) and llm is null and leads
    and llm_estimate is not null
order by outcome, instrument, arm, arm_b
"""
# what was asked and put to a measure, and by none of its trials answered
UNANSWERED = """
select study, measure, count(*) as n_trials, list(distinct reason order by reason) as reasons
from marts.outcomes
where paradigm = $paradigm and measure = coalesce($measure, measure) and study = $study
group by study, measure
having count(value) = 0
order by study, measure
"""


@click.command()
@click.option("--domain", metavar="D", help="such as loan")
@click.option("--llm", metavar="L", help="for this LLM, asked or not; vendor/name or an alias")
@click.option(
    "--goal", metavar="G",
    help=f"what matters: {', '.join(codes.GOALS)}, or a goal of the paradigm (default: the first, the others beside "
    "it)",
)  # fmt: skip
@click.option("--study", metavar="S", help="only this study (default: the largest in which LLMs were asked)")
@click.option("--paradigm", metavar="P", help="against this bias, such as framing (default: anchoring)")
@click.option("--measure", metavar="M", help="with --paradigm, only this measure of it")
@click.option("--why", "is_why", is_flag=True, help="every goal and control in one table, and what the answer rests on")
@json_option()
def recommend(
    domain: str | None, llm: str | None, goal: str | None, study: str | None, paradigm: str | None,
    measure: str | None, is_why: bool, as_json: bool,
) -> None:  # fmt: skip
    """Say what to use and what to avoid, for an LLM like those asked or for yours, and show the evidence."""

    of_any, paradigm = not (paradigm or domain), paradigm or codes.DEFAULT
    with marts() as warehouse:
        _, goals = goals_of(warehouse, study, paradigm)
        _refuse_options(paradigm, goals, domain, goal, measure)
        places = asked_places(warehouse, paradigm, study, domain)
        if not places:
            _refuse_without_trials(warehouse)
        llm = llm and llm_named(warehouse, llm, {llm for place in places for llm in place["llms"]})
        domains = sorted({place["domain"] for place in places if study in (None, place["study"])}, key=str)
        domain = domains[0] if len(domains) == 1 and domain is None else domain
        meant = places_meant(places, study, domain, llm)
        if not places:
            raise UserError(f"nothing was asked yet: there is {NOTHING_YET}")
        others = _other_biases(warehouse, study, paradigm, places) if of_any else []
        if domain not in domains and not as_json:
            if is_why:
                of_one = " or ".join(f"`--domain {printable(each)}`" for each in domains)
                raise UserError(f"--why is about one domain: say {of_one}")
            _say_each_domain(warehouse, [places_meant(places, study, each, llm)[0] for each in domains], llm, goal)
            say_each(others)
            return
        if domain not in domains:
            where = f" in study {study}" if study else ""
            there = ", ".join(map(printable, domains)) or NOTHING_YET
            raise UserError(f"--json answers for one domain, say which with --domain: there is {there}{where}")
        place, *elsewhere = meant
        place = place | {"measure": measure}
        evidence = evidence_on(warehouse, place, llm, goal)
        if not goals and not any(bias["n_trials"] for bias in evidence.biases):
            _refuse_unanswered(warehouse, place, evidence.biases)
        unread = unread_lines(warehouse, place["study"])
        has_people = evidence.biases and is_public(warehouse, "human_comparisons")
        people = records(warehouse, PEOPLE, place) if has_people else []
    sentences = advise(evidence, goal)
    alike = "" if evidence.is_asked else similar(llm, evidence.llms)
    absence = [text for text in [on_absence(evidence, words_of_checks(), alike)] if text]
    told = [f"{printable(llm)} was not tested{alike}."] if alike and not absence else []
    sentences[1:1] = [{"about": "llm", "text": text} for text in absence or told]
    goals = (goal,) if goal else tuple(evidence.goals)
    studies = [place["study"] for place in elsewhere]
    if as_json:
        say_json(_in_full(evidence, place, goals, sentences, studies) | {"unread_lines": unread})
        return
    also = f" (also {', '.join(studies)})" if studies else ""
    has_more = False
    if is_why:
        say_goals(evidence, evidence.cautious(goals))
        say_each(absence)
        say_each(why(evidence, goal))
    else:
        if not evidence.of(*evidence.goals):
            say_biases(evidence)
        say_gains([evidence], goal)
        say_each([*absence, *in_brief(evidence, goal)])
        uncounted = list(sentences_on_shortfalls(evidence.shortfalls))
        by_hand = list(sentences_on_shortfalls(evidence.shortfalls, without=SENTENCES.keys() - BY_HAND))
        shown = uncounted if len(uncounted) <= FEW else [*dict.fromkeys([uncounted[0], *by_hand])]
        has_more = len(shown) < len(uncounted)
        say_each(filter(None, [" ".join(shown)]))
    if is_why or not evidence.of(*evidence.goals):
        say_each(beside_llms(people, has_sources=is_why))
    say_each([*told, *sentences_on_unread(unread)])
    more = "`--why`: why, and what else is left out." if has_more else "`--why`: why. `bais words`: what words mean."
    say(f"{'`bais words`: what words mean.' if is_why else more} Study: {place['study']}{also}.")
    if not is_why:
        say_each(others)


def _other_biases(warehouse, study, paradigm, places):
    """Say which other biases were asked about: of LLMs, or of simulated respondents where no LLM was asked."""
    keys = {"study": study, "paradigm": paradigm, "is_simulated": all(place["is_simulated"] for place in places)}
    others = values(warehouse, OTHERS, keys)
    return [other_biases(others)] if others else []


def _refuse_options(paradigm, goals, domain, goal, measure):
    """Refuse a measure of a paradigm that names goals, a domain or goal of one that names none, or another goal."""
    if goals and measure:
        raise UserError(f"--measure goes with a --paradigm without goals; in {paradigm}, --goal says what matters")
    if not goals and (domain or goal):
        of_whom = "--domain and --goal are of anchoring, and of paradigms that name goals"
        raise UserError(f"{of_whom}; with this --paradigm say --measure")
    if goal == "both":
        raise UserError("there is no goal both: without --goal all goals are shown, the one that leads first")
    if goal not in goals and OF_PAPERS.get(goal) in goals:
        raise UserError(
            f"{goal} is what papers print, and nothing is decided on it: ask for --goal {OF_PAPERS[goal]}, or leave "
            f"--goal out; there is {', '.join(goals)}"
        )


def _refuse_unanswered(warehouse, place, biases):
    """Say of a paradigm or measure that was asked how many trials had no usable answer, and what shows them."""
    paradigm, study = (printable(place[name]) for name in ("paradigm", "study"))
    rows = records(warehouse, UNANSWERED, place)
    if biases and not rows:  # there are answers, and no LLM has both arms
        return
    if not rows:
        refuse_unknown("measure", place["measure"], values(warehouse, MEASURED, place), f" in study {study}")
        raise UserError(f"{paradigm} was asked in study {study}, and no answer to it was measured")
    phrase = "; ".join(
        f"{printable(row['measure'])} of study {study} in {row['n_trials']:,} trials, none with a "
        f"usable answer ({printable(', '.join(filter(None, row['reasons'])))})"
        for row in rows
    )
    raise UserError(
        f"{paradigm} was asked, and nothing can be compared: {phrase}. `bais trials --study {study}` shows what was "
        "replied"
    )


def _refuse_without_trials(warehouse):
    """Say of a warehouse of people or news alone why it recommends nothing."""
    for table, sentence in WITHOUT_TRIALS.items():
        schema, name = table.split(".")
        if is_public(warehouse, name) and count(warehouse, schema, name):
            raise UserError(f"the warehouse holds {sentence}")


def _in_full(evidence, place, goals, sentences, others):
    """Return all of the evidence by the goals that are shown, for programs."""
    names = {row["technique"]: row["name"] for row in evidence.places}
    return {
        "study": place["study"], "paradigm": place["paradigm"], "domain": evidence.domain, "llm": evidence.llm,
        "is_asked": evidence.is_asked, "is_simulated": evidence.is_simulated, "sources": evidence.sources,
        "goals": goals,
        "answer": sentences[0]["text"], "sentences": sentences, "llms": evidence.llms, "other_studies": others,
        "techniques": [{"technique": name, "name": names[name]} | evidence.costs[name] for name in names],
        "biases": evidence.biases,
        "decisions": [row for row in evidence.places + evidence.own if row["goal"] in goals],
        "of_llms": [row for row in evidence.of_llms if row["goal"] in goals],
        "predictions": [row for row in evidence.predictions if row["goal"] in goals],
        "sensitivity": [row for row in evidence.sensitivity if row["goal"] in goals],
        "next_steps": evidence.next_steps,
        "post_hoc_changes": counted(evidence.changes, sum(evidence.n_asked.values())),
        "shortfalls": evidence.shortfalls,
    }  # fmt: skip


def _say_each_domain(warehouse, places, llm, goal):
    """Say what helps in each domain in one table; simulated ones are in it where no LLM was asked, else named below."""
    real = [place for place in places if not place["is_simulated"]]
    left_out = [printable(place["domain"]) for place in places if real and place["is_simulated"]]
    places = real or places
    evidences = [evidence_on(warehouse, place, llm, goal, in_full=False) for place in places]
    say_places(evidences, goal)
    if llm and not any(evidence.is_asked for evidence in evidences):
        alike = similar(llm, sorted({name for evidence in evidences for name in evidence.llms}))
        domain = printable(places[0]["domain"])
        say(f"{printable(llm)} was not tested{alike}; `--domain {domain}` predicts what helps it.")
    studies = {place["study"]: place["paradigm"] for place in places}
    say_each(text for of_study in studies.items() for text in shortfalls_in_short(warehouse, *of_study))
    say_each(sentences_on_unread([row for row in unread_lines(warehouse) if row["study"] in studies]))
    if left_out:
        say(f"{', '.join(left_out)}: {SIMULATED}; `--domain {left_out[0]}` says what they answered.")
    say(f"`--domain {printable(places[0]['domain'])}` says more, with `--why` why; `bais words`: what words mean.")
