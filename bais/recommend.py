"""`bais recommend`: which debiasing technique to use against a bias, which not, and how sure that is."""

import click

from analysis.words import codes
from analysis.words.advice import advise, in_brief, notes
from analysis.words.changes import counted
from analysis.words.codes import CONTROL, DECISIONS, has_rivals, on_an_llm, probability
from analysis.words.headlines import beside_rankings, other_biases, sentences_on_unread
from analysis.words.measures import arms, in_unit, possible, with_unit
from analysis.words.shortfalls import sentences as sentences_on_shortfalls
from bais.evidence import evidence_on
from bais.options import json_option
from bais.places import asked_places, goals_of, places_meant
from bais.sources import unread_lines
from bais.terminal import say, say_each, say_json, say_rows, similar
from bais.warehouse import NOTHING_YET, PARADIGMS, count, is_public, llm_named, marts, records, refuse_unknown, values
from ingest.warehouse import UserError, printable, warehouse_path

KEYS = ("technique", "goal", "control")
# of `marts.effects`, with the form of each
APART = {"signed_shift": "+.1f", "shift": ".1f", "half_gap": ".1f", "log_ratio": "+.2f"}
# what papers print, by the goal that asks the same of a technique and in which errors cannot cancel
OF_PAPERS = {"deviation": "displacement", "susceptibility": "gap", "madb": "error"}
WITHOUT_TRIALS = {
    "people.human_choices": "choices of people and no trial of an LLM, so that nothing can be recommended: `bais "
    "headlines` says what a summary does to them",
    "content.news": "news and no trial of an LLM: docs/how-to/keep-a-news-set.md says how to ask LLMs about them",
}
MEASURED = """
select distinct measure from inference.outcome_contrasts
where study = $study and paradigm = $paradigm and n_trials > 0 order by all
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
@click.option("--why", is_flag=True, help="all of the evidence: every goal, caveat and cost, and what would settle it")
@json_option()
def recommend(
    domain: str | None, llm: str | None, goal: str | None, study: str | None, paradigm: str | None,
    measure: str | None, why: bool, as_json: bool,
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
        others = values(warehouse, PARADIGMS, {"study": study, "paradigm": paradigm}) if of_any else []
        if domain not in domains and not as_json:
            _say_each_domain(warehouse, [places_meant(places, study, each, llm)[0] for each in domains], llm, goal)
            say_each(map(other_biases, [others] if others else []))
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
    sentences = advise(evidence, goal)
    if not evidence.is_asked and (alike := similar(llm, evidence.llms)):
        sentences.insert(1, {"about": "llm", "text": f"{printable(llm)} was not asked{alike}."})
    goals = (goal,) if goal else tuple(evidence.goals)
    studies = [place["study"] for place in elsewhere]
    if as_json:
        say_json(_in_full(evidence, place, goals, sentences, studies) | {"unread_lines": unread})
        return
    also = f"; {domain or paradigm} is also in {', '.join(studies)} (--study)" if studies else ""
    source = f"Study: {place['study']}{also}. Warehouse: {warehouse_path()}"
    below = [*beside_rankings((), evidence.rankings), *sentences_on_unread(unread), source]
    if why:
        _say_why(evidence, goals, sentences, below)
    else:
        leading = [each for each in goals if each in evidence.leading] or goals
        _say_in_brief(evidence, leading, sentences, sentences_on_unread(unread), source)
        say_each(map(other_biases, [others] if others else []))


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


def _say_in_brief(evidence, goals, sentences, unread, source):

    say_each(in_brief(sentences, of_one_llm=bool(evidence.llm)))
    say_each(sentences_on_shortfalls(evidence.shortfalls))
    print()
    for goal in goals:
        _print_decisions(evidence, goal)
    say_each(unread)
    others = "measures" if evidence.biases else "goals"
    say(f"`--why` says how sure that is, what the other {others} say and what would settle it. {source}")


def _say_why(evidence, goals, sentences, below):
    """Say all of the evidence, what would settle it last."""
    following = [sentence["text"] for sentence in sentences if sentence["about"] == "next"]
    say_each(sentence["text"] for sentence in sentences if sentence["about"] != "next")
    if evidence.places or evidence.biases:
        print()
        _print_evidence(evidence, goals)
    say_each([*below, *following])


def _say_each_domain(warehouse, places, llm, goal):
    """Say the answer of each domain in a line, and how to see why; simulated domains come where no LLM was asked."""
    for place in places:
        evidence = evidence_on(warehouse, place, llm, goal, in_full=False)
        say(advise(evidence, goal)[0]["text"])
        say_each(sentences_on_shortfalls(evidence.shortfalls), indent="  ")
    studies = {place["study"] for place in places}
    say_each(sentences_on_unread([row for row in unread_lines(warehouse) if row["study"] in studies]))
    command = f"bais recommend{codes.option(places[0]['paradigm'])} --domain {printable(places[0]['domain'])}"
    say(f"`{command}` says how sure that is, and with `--why` why.")


def _show(heads, rows, right):
    if rows:
        say_rows("table", heads, rows, null="", right=right)
        print()


def _print_decisions(evidence, goal):
    """Print what is decided on each technique by a goal, for other LLMs or for the one that is asked about."""
    rows = [_decided(row, evidence) for row in _compared(evidence, goal)]
    by, gain = f"by {_head(goal)}", "gain of this\nLLM" if evidence.own else "gain"
    gain = " ".join([gain, f"({evidence.goals[goal].unit})"]).removesuffix(" ()")
    if evidence.own:  # how many others gained says nothing of this one
        _show([by, f"for other\n{evidence.noun}s", f"for this\n{evidence.noun}", gain], rows, (3,))
    else:
        _show([by, f"for other\n{evidence.noun}s", f"{evidence.noun}s helped,\nharmed", gain], rows, (2, 3))


def _print_each_llm(evidence, goal):
    """Print what each technique does to each LLM, by its own trials."""
    words, before, rows = evidence.goals[goal], None, []
    for row in evidence.among(evidence.of_llms, goal):
        gain = _gain(words, *(row[name] for name in ("gain", "gain_low", "gain_high")))
        rows.append([row["name"], row["llm"], on_an_llm(row), gain])
    rows.sort(key=lambda row: row[:2])
    for row in rows:
        row[0], before = (None if row[0] == before else row[0]), row[0]
    gain = f"gain ({words.unit})".removesuffix(" ()")
    _show([f"by {_head(goal)}", evidence.noun, f"does to this\n{evidence.noun}", gain], rows, (3,))


def _head(goal):
    """Write a goal as the head of a column: the arms of a measure below it."""
    return goal.replace(" (", "\n(", 1)


def _print_evidence(evidence, goals):
    """Print the biases, the decisions by each goal, what is predicted of one LLM, and what it all rests on."""

    _print_biases(evidence.biases)
    for goal in goals:
        _print_decisions(evidence, goal)
    leading = [goal for goal in goals if goal in evidence.leading] or goals[:1]
    for goal in leading:
        predicted = [row for row in evidence.predictions if row["goal"] == goal and row["expected_loss"] is not None]
        predicted.sort(key=lambda row: (-(row["p_best_new_llm"] or 0), row["technique"]))
        foretold = (evidence.llm or evidence.one_more) if predicted else ""
        best = ["P(best)"] * has_rivals(predicted)
        heads = [f"by {_head(goal)},\n{foretold}", "expected\nloss", "expected gain", "P(better)", *best]
        words = evidence.goals[goal]
        _show(heads, [_predicted(row, words, bool(best)) for row in predicted], range(1, len(heads)))
        if not evidence.own:
            _print_each_llm(evidence, goal)
    if goals:
        losses = [f"{_head(goal)}\n({evidence.goals[goal].unit})".removesuffix("\n()") for goal in goals]
        heads = ["loss", *losses, "P(best)", "P(worse)", "trials\ncompared", "USD per\n1,000"]
        rows = list(_sizes(evidence, goals))
        kept = [i for i, head in enumerate(heads) if not head.startswith("P(") or any(row[i] for row in rows)]
        _show([heads[i] for i in kept], [[row[i] for i in kept] for row in rows], range(1, len(kept)))
        _print_apart(evidence)
    say_each(notes(evidence, goals))


def _print_apart(evidence):
    """Print the two things that displacement is made of, where which goal leads hangs on the prompts."""
    apart = {}
    for row in evidence.rankings if evidence.prompts else ():
        apart.setdefault(row["technique"], {}).update({name: row[name] for name in APART if row[name] is not None})
    names = {row["technique"]: row["name"] for row in evidence.places if row["loss"] is not None}
    rows = [
        [name, *(f"{apart[technique][of]:{form}}" if of in apart[technique] else None for of, form in APART.items())]
        for technique, name in names.items()
        if apart.get(technique)
    ]
    heads = [f"means over {evidence.noun}s", "shift\n(pp)", "its size\n(pp)", "half gap\n(pp)", "log\n(high / low)"]
    _show(heads, sorted(rows, key=lambda row: row[0] == names.get(CONTROL)), range(1, 5))


def _print_biases(biases):
    """Print how far arms lie apart by each measure, without a technique and with each."""
    heads = ["measure", "arms", "technique", "difference (95 % interval)", "p, by\nHolm"]
    rows = [
        [with_unit(bias), arms(bias), bias["name"], _difference(bias), probability(bias["p_holm"])] for bias in biases
    ]
    kept = heads if any(row[-1] for row in rows) else heads[:-1]
    _show(kept, [row[: len(kept)] for row in rows], (3, 4))


def _difference(bias):
    if bias["value"] is None:
        return None
    value, low, high = (in_unit(bias, possible(bias, bias[name])) for name in ("value", "low", "high"))
    return f"{value:+.3g}" if low is None else f"{value:+.3g} ({low:+.3g} to {high:+.3g})"


def _compared(evidence, goal):
    """Each technique on its control, and below it what else it is held against."""
    for row in evidence.of(goal):
        yield row
        for kind in ("confounded", "placebo"):
            others = evidence.of(goal, comparison=kind)
            yield from (other for other in others if other["technique"] == row["technique"])


def _decided(row, evidence):

    is_plain = row["comparison"] == "control" and row["control"] == CONTROL
    label = row["name"] if is_plain else f"{row['name']} vs {row['control_name']}"
    label = label if row["comparison"] == "control" else f"  vs {row['control_name']}"
    own = next((other for other in evidence.own if all(other[key] == row[key] for key in KEYS)), None)
    told = own or ({} if evidence.own else row)  # of one LLM nothing that is of all
    decision = DECISIONS[row["decision"]] if row["decision"] else "confounded"
    if evidence.own:
        beside = on_an_llm(own) if own and own["decision"] else None
    else:
        is_counted = row["decision"] and row["n_helped"] is not None
        beside = f"{row['n_helped']}, {row['n_harmed']} of {row['n_llms']}" if is_counted else None
    gains = (told.get(name) for name in ("gain", "gain_low", "gain_high"))
    return [label, decision, beside, _gain(evidence.words(row), *gains)]


def _predicted(row, words, has_rivals):

    gain = row["gain"] and _gain(words, row["gain"], row["gain_low"], row["gain_high"])
    best = [probability(row["p_best_new_llm"])] * has_rivals
    loss = None if row["expected_loss"] is None else words.number(row["expected_loss"])
    own_control = row["control"] not in (None, CONTROL)
    name = f"{row['name']} vs its first answers" if own_control else row["name"]
    return [name, loss, gain, probability(row["p_better_than_control"]), *best]


def _gain(words, gain, low, high):
    """A gain and its bounds, of which wide ones need no decimals."""
    if gain is None or low is None:
        return None if gain is None else words.signed(gain)
    is_wide = words.form == ".1f" and words.scale * max(-low, high) >= 100
    ends = (words.number(end, "+.0f") if is_wide else words.signed(end) for end in (low, high))
    return f"{words.signed(gain)} ({' to '.join(ends)})"


def _sizes(evidence, goals):
    """What each technique and each control loses by each goal, how probable its place is, and what it rests on."""

    rows = [row for row in evidence.own or evidence.places if row["comparison"] in ("control", None)]
    rows = [row for row in rows if row["loss"] is not None]
    sizes = {(row["technique"], row["goal"]): evidence.words(row).number(row["loss"]) for row in rows}
    first = {row["technique"]: row for row in rows if row["goal"] == goals[0]}
    for technique in sorted(first, key=lambda name: (name == CONTROL, first[name]["loss"], name)):
        row = first[technique]
        losses = [sizes.get((technique, goal)) for goal in goals]
        places = [probability(row["p_best"]) if has_rivals(rows) else None, probability(row["p_worse_than_control"])]
        usd = evidence.costs[technique]["cost_usd_per_1000"]
        yield [row["name"], *losses, *places, f"{row['n_trials']:,}", "unknown" if usd is None else f"{usd:,.2f}"]
