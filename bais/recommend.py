"""`bais recommend`: which debiasing technique to use in a domain, which not, and how sure that is."""

import click

from analysis.words import codes
from analysis.words.codes import CONTROL, DECISIONS, has_rivals, probability
from analysis.words.domains import advise, in_brief, notes
from analysis.words.headlines import beside_rankings, other_biases, sentences_on_unread
from bais.biases import recommend_on_bias
from bais.evidence import evidence_on
from bais.options import json_option
from bais.places import WORDS, asked_places, goals_of, places_meant
from bais.sources import unread_lines
from bais.terminal import fixed, say, say_each, say_json, say_rows, similar
from bais.warehouse import ANCHORING, NOTHING_YET, PARADIGMS, count, is_public, llm_named, marts, refuse_unknown, values
from ingest.warehouse import UserError, printable, warehouse_path

GOALS = tuple(codes.GOALS)
HEADS = {"displacement": "displace-\nment (pp)", "gap": "gap\n(pp)", "error": "error\n(%)"}
KEYS = ("technique", "goal", "control")
# what papers print, by the goal that asks the same of a technique and in which errors cannot cancel
OF_PAPERS = {"deviation": "displacement", "susceptibility": "gap", "madb": "error"}
WITHOUT_TRIALS = {
    "people.human_choices": "choices of people and no trial of an LLM, so that nothing can be recommended: `bais "
    "headlines` says what a summary does to them",
    "content.news": "news and no trial of an LLM: docs/how-to/keep-a-news-set.md says how to ask LLMs about them",
}


@click.command()
@click.option("--domain", metavar="D", help="such as loan")
@click.option("--llm", metavar="L", help="for this LLM, asked or not; vendor/name or an alias")
@click.option(
    "--goal", metavar="G",
    help=f"what matters: {', '.join(GOALS)}, or a goal of the paradigm (default: the first, the others beside it)",
)  # fmt: skip
@click.option("--study", metavar="S", help="only this study (default: the largest in which LLMs were asked)")
@click.option("--paradigm", metavar="P", help="against this bias, such as framing (default: anchoring)")
@click.option("--measure", metavar="M", help="with --paradigm, only this measure of it")
@click.option("--why", is_flag=True, help="all of the evidence: every goal, caveat and cost, and what would settle it")
@json_option()
def recommend(
    domain: str | None, llm: str | None, goal: str | None, study: str | None, paradigm: str | None,
    measure: str | None, why: bool, as_json: bool,
) -> None:  # fmt: skip
    """Say what to use and what to avoid, for an LLM like those asked or for yours, and show the evidence."""

    paradigm = paradigm or ANCHORING
    with marts() as warehouse:
        _, goals = goals_of(warehouse, study, paradigm)
        if goals and measure:
            raise UserError(f"--measure goes with a --paradigm without goals; in {paradigm}, --goal says what matters")
        if not goals:
            if domain or goal:
                of_whom = "--domain and --goal are of anchoring, and of paradigms that name goals"
                raise UserError(f"{of_whom}; with this --paradigm say --measure")
            recommend_on_bias(warehouse, paradigm, measure, study, llm, as_json)
            return
        if paradigm == ANCHORING:
            _refuse_goal(goal)
        places = asked_places(warehouse, paradigm, study, domain)
        if not places:
            _refuse_without_trials(warehouse)
        llm = llm and llm_named(warehouse, llm, {llm for place in places for llm in place["llms"]})
        domains = sorted({place["domain"] for place in places if study in (None, place["study"])})
        if paradigm != ANCHORING and len(domains) == 1:
            domain = domain or domains[0]
        meant = places_meant(places, study, domain, llm)
        if domain is None and not as_json:
            _say_each_domain(
                warehouse, [places_meant(places, study, each, llm)[0] for each in domains], study, llm, goal
            )
            return
        if domain is None:
            where = f" in study {study}" if study else ""
            there = ", ".join(map(printable, domains)) or NOTHING_YET
            raise UserError(f"--json answers for one domain, say which with --domain: there is {there}{where}")
        place, others = meant[0], [place["study"] for place in meant[1:]]
        evidence = _evidence(warehouse, place, llm, goal)
        unread = unread_lines(warehouse, place["study"])
    sentences = advise(evidence, goal)
    if not evidence.is_asked and (alike := similar(llm, evidence.llms)):
        sentences.insert(1, {"about": "llm", "text": f"{printable(llm)} was not asked{alike}."})
    goals = (goal,) if goal else tuple(evidence.goals)
    if as_json:
        say_json(_in_full(evidence, place, goals, sentences, others) | {"unread_lines": unread})
        return
    also = f"; {domain} is also in {', '.join(others)} (--study)" if others else ""
    source = f"Study: {place['study']}{also}. Warehouse: {warehouse_path()}"
    if why:
        _say_why(
            evidence, goals, sentences, [*beside_rankings((), evidence.rankings), *sentences_on_unread(unread), source]
        )
    else:
        _say_in_brief(evidence, goals[0], sentences, sentences_on_unread(unread), source)


def _refuse_without_trials(warehouse):
    """Say of a warehouse of people or news alone why it recommends nothing."""
    for table, sentence in WITHOUT_TRIALS.items():
        schema, name = table.split(".")
        if is_public(warehouse, name) and count(warehouse, schema, name):
            raise UserError(f"the warehouse holds {sentence}")


def _evidence(warehouse, place, llm, goal):
    refuse_unknown("goal", goal, goals_of(warehouse, place["study"], place["paradigm"])[1], **WORDS)
    return evidence_on(warehouse, place, llm, goal)


def _in_full(evidence, place, goals, sentences, others):
    """Return all of the evidence by the goals that are shown, for programs."""
    names = {row["technique"]: row["name"] for row in evidence.places}
    return {
        "study": place["study"], "paradigm": place["paradigm"], "domain": evidence.domain, "llm": evidence.llm,
        "is_asked": evidence.is_asked, "is_simulated": evidence.is_simulated, "goals": goals,
        "answer": sentences[0]["text"], "sentences": sentences, "llms": evidence.llms, "other_studies": others,
        "techniques": [{"technique": name, "name": names[name]} | evidence.costs[name] for name in names],
        "decisions": [row for row in evidence.places + evidence.own if row["goal"] in goals],
        "predictions": [row for row in evidence.predictions if row["goal"] in goals],
        "next_steps": evidence.next_steps,
    }  # fmt: skip


def _say_in_brief(evidence, goal, sentences, unread, source):

    say_each(in_brief(sentences, of_one_llm=bool(evidence.llm)))
    print()
    _print_decisions(evidence, goal)
    say_each(unread)
    say(f"`--why` says how sure that is, what the other goals say and what would settle it. {source}")


def _say_why(evidence, goals, sentences, below):
    """Say all of the evidence, what would settle it last."""
    following = [sentence["text"] for sentence in sentences if sentence["about"] == "next"]
    say_each(sentence["text"] for sentence in sentences if sentence["about"] != "next")
    if evidence.places:
        print()
        _print_evidence(evidence, goals)
    say_each([*below, *following])


def _say_each_domain(warehouse, places, study, llm, goal):
    """Say the answer of each domain in a line, and how to see why; simulated domains come where no LLM was asked."""
    for place in places:
        say(advise(_evidence(warehouse, place, llm, goal), goal)[0]["text"])
    studies = {place["study"] for place in places}
    say_each(sentences_on_unread([row for row in unread_lines(warehouse) if row["study"] in studies]))
    is_anchoring = places[0]["paradigm"] == ANCHORING
    of_paradigm = "" if is_anchoring else f" --paradigm {printable(places[0]['paradigm'])}"
    domain = printable(places[0]["domain"])
    say(f"`bais recommend{of_paradigm} --domain {domain}` says how sure that is, and with `--why` why.")
    if is_anchoring and (others := values(warehouse, PARADIGMS, {"study": study})):
        say(other_biases(others))


def _refuse_goal(goal):
    if goal == "both":
        raise UserError("there is no goal both: without --goal all goals are shown, displacement first")
    if goal in OF_PAPERS:
        raise UserError(
            f"{goal} is what papers print, and nothing is decided on it: ask for --goal {OF_PAPERS[goal]}, or leave "
            f"--goal out; there is {', '.join(GOALS)}"
        )


def _show(heads, rows, right):
    if rows:
        say_rows("table", heads, rows, null="", right=right)
        print()


def _print_decisions(evidence, goal):
    """Print what is decided on each technique by a goal."""
    of_whom = "of this\nLLM" if evidence.own else "of those\nasked"
    rows = [_decided(row, evidence) for row in _compared(evidence, goal)]
    if evidence.own:  # how many others gained says nothing of this one
        heads = [f"by {goal}", "of LLMs\nlike them", of_whom, f"gain of this\nLLM ({_unit(evidence, goal)})"]
        _show(heads, [[*row[:3], row[4]] for row in rows], (3,))
    else:
        _show([f"by {goal}", "decision", of_whom, "LLMs\ngained", f"gain ({_unit(evidence, goal)})"], rows, (3, 4))


def _print_evidence(evidence, goals):
    """Print the decisions by each goal, what is predicted of one LLM, and what it all rests on."""

    for goal in goals:
        _print_decisions(evidence, goal)
    predicted = [row for row in evidence.predictions if row["goal"] == goals[0] and row["gain"] is not None]
    predicted.sort(key=lambda row: (-(row["p_best_new_llm"] or 0), row["technique"]))
    foretold = predicted[0]["llm"] or evidence.llm or "one more LLM" if predicted else ""
    best = ["P(best)"] * has_rivals(predicted)
    heads = [f"by {goals[0]},\n{foretold}", "expected\nloss", "expected gain", "P(better)", *best]
    _show(heads, [_predicted(row, bool(best)) for row in predicted], range(1, len(heads)))
    best = ["P(best)"] * has_rivals(evidence.of(goals[0]))
    losses = [HEADS.get(goal, f"{goal}\n({_unit(evidence, goal)})") for goal in goals]
    heads = ["loss", *losses, *best, "P(worse)", "trials\ncompared", "USD per\n1,000"]
    _show(heads, list(_sizes(evidence, goals, bool(best))), range(1, len(heads)))
    say_each(notes(evidence, goals))


def _compared(evidence, goal):
    """Each technique on its control, and below it what else it is held against."""
    for row in evidence.of(goal):
        yield row
        for kind in ("confounded", "placebo"):
            yield from (other for other in evidence.of(goal, kind) if other["technique"] == row["technique"])


def _decided(row, evidence):

    is_plain = row["comparison"] == "control" and row["control"] == CONTROL
    label = row["name"] if is_plain else f"{row['name']} vs {row['control_name']}"
    label = label if row["comparison"] == "control" else f"  vs {row['control_name']}"
    own = next((other for other in evidence.own if all(other[key] == row[key] for key in KEYS)), None)
    told = own or ({} if evidence.own else row)  # of one LLM nothing that is of all
    asked = told.get("decision_asked")
    decisions = [DECISIONS[row["decision"]], asked and DECISIONS[asked]] if row["decision"] else ["confounded", None]
    gained = f"{row['n_gained']} of {row['n_llms']}" if row["n_gained"] is not None else None
    which = "gain_asked" if own else "gain"
    return [label, *decisions, gained, _gain(*(told.get(name) for name in ("gain", f"{which}_low", f"{which}_high")))]


def _predicted(row, has_rivals):

    gain = _gain(row["gain"], row["gain_low"], row["gain_high"])
    best = [probability(row["p_best_new_llm"])] * has_rivals
    return [row["name"], fixed(row["expected_loss"], ".1f"), gain, probability(row["p_better_than_control"]), *best]


def _gain(gain, low, high):
    """A gain and its bounds, of which wide ones need no decimals."""
    if gain is None or low is None:
        return fixed(gain, "+.1f")
    form = "+.0f" if max(-low, high) >= 100 else "+.1f"
    return f"{gain:+.1f} ({low:{form}} to {high:{form}})"


def _sizes(evidence, goals, has_rivals):
    """What each technique and each control loses by each goal, how probable its place is, and what it rests on."""

    rows = [row for row in evidence.own or evidence.places if row["comparison"] in ("control", None)]
    sizes = {(row["technique"], row["goal"]): row["loss"] for row in rows}
    first = {row["technique"]: row for row in rows if row["goal"] == goals[0] and row["loss"] is not None}
    for technique in sorted(first, key=lambda name: (name == CONTROL, first[name]["loss"], name)):
        row = first[technique]
        losses = [fixed(sizes.get((technique, goal)), ".1f") for goal in goals]
        places = [*[probability(row["p_best"])] * has_rivals, probability(row["p_worse_than_control"])]
        usd = evidence.costs[technique]["cost_usd_per_1000"]
        yield [row["name"], *losses, *places, f"{row['n_trials']:,}", "unknown" if usd is None else f"{usd:,.2f}"]


def _unit(evidence, goal):
    return evidence.goals[goal].unit
