"""`bais recommend`: which debiasing technique to use in a domain, which not, and how sure that is."""

import click

from analysis.words import codes
from bais import terminal
from bais.biases import recommend_on_bias
from bais.evidence import evidence_on, goals_of
from bais.options import json_option
from bais.sources import said_of_unread, unread_lines
from bais.terminal import fixed, lay_out, say, say_json, similar
from bais.warehouse import (
    ANCHORING,
    IS_A_STUDY,
    NOTHING_YET,
    PARADIGMS,
    count,
    llm_named,
    marts,
    not_ranked,
    public_tables,
    records,
    refuse_not_public,
    refuse_paradigm,
    refuse_unknown,
    values,
)
from ingest.warehouse import UserError, printable, warehouse_path

GOALS = tuple(codes.GOALS)
HEADS = {"displacement": "displace-\nment (pp)", "gap": "gap\n(pp)", "error": "error\n(%)"}
KEYS = ("technique", "goal", "control")
# what papers print, by the goal that asks the same of a technique and in which errors cannot cancel
OF_PAPERS = {"deviation": "displacement", "susceptibility": "gap", "madb": "error"}
WORDS = {"none": NOTHING_YET, "by_part": True}  # a part of a name is enough to be told the whole
WITHOUT_TRIALS = {
    "human_choices": "choices of people and no trial of an LLM, so that nothing can be recommended: `bais headlines` "
    "says what a summary does to them",
    "news": "news and no trial of an LLM: docs/how-to/keep-a-news-set.md says how to ask LLMs about them",
}

# The largest study first, those of LLMs before simulated ones.
ASKED = f"""
select study, domain, llm from marts.trials
where {IS_A_STUDY} and paradigm = $paradigm and role is null and left_out_because is null group by study, domain, llm
order by
    bool_or(bool_or(source = 'simulated')) over (partition by study), sum(count(*)) over (partition by study) desc,
    study, llm, domain
"""


@click.command()
@click.option("--domain", metavar="D", help="such as loan")
@click.option("--llm", metavar="L", help="for this LLM, asked or not; vendor/name or an alias")
@click.option(
    "--goal",
    metavar="G",
    help=f"what matters: {', '.join(GOALS)}, or a goal of the paradigm (default: the first, the others beside it)",
)
@click.option("--study", metavar="S", help="only this study (default: the largest in which LLMs were asked)")
@click.option("--paradigm", metavar="P", help="against this bias, such as framing (default: anchoring)")
@click.option("--measure", metavar="M", help="with --paradigm, only this measure of it")
@click.option("--why", is_flag=True, help="all of the evidence: every goal, caveat and cost, and what would settle it")
@json_option()
def recommend(
    domain: str | None,
    llm: str | None,
    goal: str | None,
    study: str | None,
    paradigm: str | None,
    measure: str | None,
    why: bool,
    as_json: bool,
) -> None:
    """Say what to use and what to avoid, for an LLM like those asked or for yours, and show the evidence."""
    from analysis.words.domains import advise, in_brief

    paradigm = paradigm or ANCHORING
    with marts() as warehouse:
        _, has_goals = goals_of(warehouse, study, paradigm)
        if has_goals and measure:
            raise UserError(f"--measure goes with a --paradigm without goals; in {paradigm}, --goal says what matters")
        if not has_goals:
            if domain or goal:
                raise UserError(
                    "--domain and --goal are of anchoring, and of paradigms that name goals; with this --paradigm say "
                    "--measure"
                )
            recommend_on_bias(warehouse, paradigm, measure, study, llm, as_json)
            return
        asked_rows = records(warehouse, ASKED, {"paradigm": paradigm})
        if paradigm == ANCHORING:
            _refuse_goal(goal)
            refuse_paradigm(
                warehouse, domain, study, {row["domain"] for row in asked_rows if study in (None, row["study"])}
            )
        refuse_not_public(warehouse, study, {row["study"] for row in asked_rows})
        if not asked_rows:
            _refuse_without_trials(warehouse)
        llm = llm and llm_named(warehouse, llm, {row["llm"] for row in asked_rows})
        domains = {row["domain"] for row in asked_rows if study in (None, row["study"])}
        if paradigm != ANCHORING and len(domains) == 1:
            domain = domain or domains.pop()
        if domain is None and not as_json:
            _say_each_domain(warehouse, study, llm, goal, asked_rows, paradigm)
            return
        study, others = _study(study, domain, llm, asked_rows)
        is_asked = llm in {
            None,
            *(row["llm"] for row in asked_rows if (row["study"], row["domain"]) == (study, domain)),
        }
        refuse_unknown("goal", goal, goals_of(warehouse, study, paradigm)[1], **WORDS)
        evidence = evidence_on(warehouse, study, domain, llm, is_asked, goal, paradigm)
        unread = unread_lines(warehouse, study)
    sentences = advise(evidence, goal)
    if not is_asked and (meant := similar(llm, evidence.llms)):
        sentences.insert(1, {"about": "llm", "text": f"{printable(llm)} was not asked{meant}."})
    goals = (goal,) if goal else tuple(evidence.goals)
    if as_json:
        techniques = dict.fromkeys((row["technique"], row["name"]) for row in evidence.places)
        say_json(
            {
                "study": study, "paradigm": paradigm, "domain": domain, "llm": llm, "is_asked": is_asked,
                "is_simulated": evidence.is_simulated, "goals": goals, "answer": sentences[0]["text"],
                "sentences": sentences, "llms": evidence.llms, "other_studies": others,
                "techniques": [
                    {"technique": technique, "name": name} | evidence.costs[technique]
                    for technique, name in techniques
                ],
                "decisions": [row for row in evidence.places + evidence.own if row["goal"] in goals],
                "predictions": [row for row in evidence.predictions if row["goal"] in goals],
                "next_steps": evidence.next_steps, "unread_lines": unread,
            }
        )  # fmt: skip
        return
    also = f"; {domain} is also in {', '.join(others)} (--study)" if others else ""
    source = f"Study: {study}{also}. Warehouse: {warehouse_path()}"
    if not why:
        for text in in_brief(sentences, of_one_llm=bool(llm)):
            say(text)
        print()
        _print_decisions(evidence, goals[0])
        for sentence in said_of_unread(unread):
            say(sentence)
        say(f"`--why` says how sure that is, what the other goals say and what would settle it. {source}")
        return
    *rest, last = sentences
    for sentence in rest if last["about"] == "next" else sentences:
        say(sentence["text"])
    if evidence.places:
        print()
        _print_evidence(evidence, goals)
    if unranked := not_ranked(evidence.rankings):
        say(unranked)
    for sentence in said_of_unread(unread):
        say(sentence)
    say(source)
    if last["about"] == "next":
        say(last["text"])


def _refuse_without_trials(warehouse):
    """Say of a warehouse of people or news alone why it recommends nothing."""
    for table, sentence in WITHOUT_TRIALS.items():
        if table in {name for _, name, _ in public_tables(warehouse)} and count(warehouse, "marts", table):
            raise UserError(f"the warehouse holds {sentence}")


def _say_each_domain(warehouse, named, llm, goal, asked_rows, paradigm):
    """Say the answer of each domain in a line, and how to see why; simulated domains come where no LLM was asked."""
    from analysis.words.domains import advise

    refuse_unknown("study", named, dict.fromkeys(row["study"] for row in asked_rows), **WORDS)
    domains = sorted({row["domain"] for row in asked_rows if named in (None, row["study"])})
    studies = set()
    for domain in domains:
        study, _ = _study(named, domain, llm, asked_rows)
        is_asked = llm in {
            None,
            *(row["llm"] for row in asked_rows if (row["study"], row["domain"]) == (study, domain)),
        }
        refuse_unknown("goal", goal, goals_of(warehouse, study, paradigm)[1], **WORDS)
        evidence = evidence_on(warehouse, study, domain, llm, is_asked, goal, paradigm)
        say(advise(evidence, goal)[0]["text"])
        studies.add(study)
    for sentence in said_of_unread([row for row in unread_lines(warehouse) if row["study"] in studies]):
        say(sentence)
    of_paradigm = "" if paradigm == ANCHORING else f" --paradigm {printable(paradigm)}"
    say(f"`bais recommend{of_paradigm} --domain {printable(domains[0])}` says how sure that is, and with `--why` why.")
    others = values(warehouse, PARADIGMS, {"study": named}) if paradigm == ANCHORING else []
    if others:
        say(
            f"Other biases were asked about too: {', '.join(map(printable, others))}; `bais recommend --paradigm "
            f"{printable(others[0])}` says how large such a bias is and what helps."
        )


def _refuse_goal(goal):
    if goal == "both":
        raise UserError("there is no goal both: without --goal all goals are shown, displacement first")
    if goal in OF_PAPERS:
        raise UserError(
            f"{goal} is what papers print, and nothing is decided on it: ask for --goal {OF_PAPERS[goal]}, or leave "
            f"--goal out; there is {', '.join(GOALS)}"
        )


def _study(study, domain, llm, asked_rows):
    """Return the study that answers, and the others that could: first those that asked the LLM."""
    refuse_unknown("study", study, dict.fromkeys(row["study"] for row in asked_rows), **WORDS)
    where = f" in study {study}" if study else ""
    asked_rows = [row for row in asked_rows if study in (None, row["study"])]
    domains = sorted({row["domain"] for row in asked_rows})
    if domain is None:
        raise UserError(f"--json answers for one domain, say which with --domain: there is {_list(domains)}{where}")
    refuse_unknown("domain", domain, domains, where, **WORDS)
    here = [row for row in asked_rows if row["domain"] == domain]
    with_llm = [row for row in here if row["llm"] == llm]
    first, *others = dict.fromkeys(row["study"] for row in with_llm + here)
    return first, others


def _list(names):
    return ", ".join(map(printable, names)) or NOTHING_YET


def _show(heads, rows, right):
    if rows:
        print(lay_out(heads, rows, width=terminal.terminal_width(), null="", right=right))
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
    from analysis.words.codes import has_rivals
    from analysis.words.domains import notes

    for goal in goals:
        _print_decisions(evidence, goal)
    predicted = [row for row in evidence.predictions if row["goal"] == goals[0] and row["gain"] is not None]
    predicted.sort(key=lambda row: (-(row["p_best_new_llm"] or 0), row["technique"]))
    foretold = predicted[0]["llm"] or evidence.llm or "one more LLM" if predicted else ""
    best = ["P(best)"] * has_rivals(predicted)
    heads = [f"by {goals[0]},\n{foretold}", "expected\nloss", "expected gain", "P(better)", *best]
    _show(heads, [_predicted(row, bool(best)) for row in predicted], range(1, len(heads)))
    best = ["P(best)"] * has_rivals(evidence.of(goals[0]))
    heads = [
        "loss",
        *(_head(evidence, goal) for goal in goals),
        *best,
        "P(worse)",
        "trials\ncompared",
        "USD per\n1,000",
    ]
    _show(heads, list(_sizes(evidence, goals, bool(best))), range(1, len(heads)))
    for note in notes(evidence, goals):
        say(note)


def _compared(evidence, goal):
    """Each technique on its control, and below it what else it is held against."""
    for row in evidence.of(goal):
        yield row
        for kind in ("confounded", "placebo"):
            yield from (other for other in evidence.of(goal, kind) if other["technique"] == row["technique"])


def _decided(row, evidence):
    from analysis.words.codes import CONTROL, DECISIONS

    is_plain = row["comparison"] == "control" and row["control"] == CONTROL
    label = row["name"] if is_plain else f"{row['name']} vs {row['control_name']}"
    label = label if row["comparison"] == "control" else f"  vs {row['control_name']}"
    own = next((other for other in evidence.own if all(other[key] == row[key] for key in KEYS)), None)
    if row["decision"] is None:
        decisions = ["confounded", None]
    else:
        decision = own["decision_asked"] if own else None if evidence.own else row["decision_asked"]
        decisions = [DECISIONS[row["decision"]], decision and DECISIONS[decision]]
    shown, ends = (own, ("gain_asked_low", "gain_asked_high")) if own else (row, ("gain_low", "gain_high"))
    gained = f"{row['n_gained']} of {row['n_llms']}" if row["n_gained"] is not None else None
    gain = None if evidence.own and not own else _gain(shown["gain"], *(shown[end] for end in ends))
    return [label, *decisions, gained, gain]


def _predicted(row, has_rivals):
    from analysis.words.codes import probability

    gain = _gain(row["gain"], row["gain_low"], row["gain_high"])
    best = [probability(row["p_best_new_llm"])] * has_rivals
    return [row["name"], fixed(row["expected_loss"], ".1f"), gain, probability(row["p_better_than_control"]), *best]


def _gain(gain, low, high):
    """A gain and its bounds, of which wide ones need no decimals."""
    bounds = None if low is None else [fixed(end, "+.0f" if max(-low, high) >= 100 else "+.1f") for end in (low, high)]
    return gain if gain is None else f"{gain:+.1f}" + (f" ({bounds[0]} to {bounds[1]})" if bounds else "")


def _sizes(evidence, goals, has_rivals):
    """What each technique and each control loses by each goal, how probable its place is, and what it rests on."""
    from analysis.words.codes import CONTROL, probability

    rows = [row for row in evidence.own or evidence.places if row["comparison"] in ("control", None)]
    sizes = {(row["technique"], row["goal"]): row for row in rows if row["loss"] is not None}
    first = {technique: row for (technique, goal), row in sizes.items() if goal == goals[0]}
    for technique in sorted(first, key=lambda name: (name == CONTROL, first[name]["loss"], name)):
        row = first[technique]
        losses = [
            fixed(sizes[technique, goal]["loss"], ".1f") if (technique, goal) in sizes else None for goal in goals
        ]
        places = [*[probability(row["p_best"])] * has_rivals, probability(row["p_worse_than_control"])]
        usd = evidence.costs[technique]["cost_usd_per_1000"]
        yield [row["name"], *losses, *places, f"{row['n_trials']:,}", "unknown" if usd is None else f"{usd:,.2f}"]


def _unit(evidence, goal):
    return evidence.goals[goal].unit


def _head(evidence, goal):
    return HEADS.get(goal, f"{goal}\n({_unit(evidence, goal)})")
