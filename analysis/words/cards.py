"""What the page says of a domain of anchoring: on cards by goal and LLM, and the answer in full.

A sentence is a text and what stands in its braces: texts, lists of texts, and each `Value` with where it is from. What
matters most stands between double asterisks.
"""

from typing import NamedTuple

from analysis.methods.small_samples import FEWEST_VENDORS
from analysis.words import codes
from analysis.words.codes import DECIDED, codes_of, counted_otherwise, in_words, listed, on_an_llm

RANKS, PREDICTIONS, EFFECTS = "inference.decisions", "inference.predictions", "marts.effects"
PLACE = ("study", "domain", "llm", "technique", "goal", "control")
ON_A_CARD = {
    "use": "**Use {technique}.** With it {better}{than}, in {n_gained} of {n_llms} LLMs: {sure}.",
    "helps_its_own_prompt": "**{technique} helps its own prompt alone**, its last answers against its first, in "
    "{n_gained} of {n_llms} LLMs: {sure}.",
    "asking_again_helps": "**Asking again helps** ({technique}, the placebo: neutral questions). With it {better}, in "
    "{n_gained} of {n_llms} LLMs: {sure}.",
    "avoid": "**Avoid {technique}.** With it {worse}{than}, in all but {n_gained} of {n_llms} LLMs: {sure}.",
}
ON_THE_CARD_OF_AN_LLM = {
    "use": "**{technique} helps {llm}.**",
    "helps_its_own_prompt": "**{technique} helps its own prompt alone with {llm}**, its last answers against its "
    "first.",
    "asking_again_helps": "**Asking again helps {llm}** ({technique}, the placebo: neutral questions).",
    "avoid": "**{technique} harms {llm}.**",
}
LOSSES_OF_AN_LLM = {
    "displacement": "With {technique} its average answer lies {loss} of its unanchored one off, with {control} "
    "{loss_control}.",
    "gap": "With {technique} high and low anchors pull its average answers {loss} of its unanchored one apart, with "
    "{control} {loss_control}.",
    "error": "With {technique} its single answers are {loss} off, with {control} {loss_control}.",
}
NOTHING_ESTABLISHED = "**Nothing is established for LLMs like these.**"
NONE_BEATS = "**No technique is shown to beat a plain prompt** in {measures}."
BESIDE_PLAIN = (
    "With {technique} it is {loss}, with {control} {loss_control}; with a plain prompt, of another wording, it is "
    "{less}{plain}."
)
LESS = "less: "
TOLD = {
    "use": "use {names}",
    "helps_its_own_prompt": "{names} helps its own prompt alone",
    "asking_again_helps": "asking again helps ({names})",
    "better_than_asking_again": "better than asking again: {names}",
    "worse_than_asking_again": "worse than asking again: {names}",
    "avoid": "avoid {names}",
    "equivalent": "no difference with {names}",
    "no_evidence": "unclear: {names}",
}
LACKS = "Not established: {reasons}."
EACH_LLM = "Of {technique}, LLM by LLM: {told}."
LIMITS = {
    "contradicted_elsewhere": codes.CONTRADICTED,
    **{code: codes.CAVEATS[code] for code in codes.CAVEATS if code != "confounded_prompt"},
}


class Value(NamedTuple):
    """A number in a sentence: its row and column, how it is printed, and what picks the row in which table."""

    row: dict
    column: str
    digits: int = 0
    scale: float = 1
    unit: str = ""
    table: str | None = None
    by: tuple = ("technique", "control")


def say(text, **values):
    """Return a sentence."""
    return text, values


def say_of(study, row, text, **values):
    """Return a sentence on the technique of a row and its control."""
    names = {name: study.technique(row[name]) for name in ("technique", "control") if row.get(name)}
    return text, names | values


def decided(rows, goal):
    """Return the rows of one goal by what is decided, in the order of `TOLD`."""
    by_word = {word: [row for row in rows if row["goal"] == goal and row["decision"] == word] for word in TOLD}
    return {word: subset for word, subset in by_word.items() if subset}


def card(study, domain, goal, llm=None):
    """Say the answer by one goal in short: what is established and supported, or what techniques do to one LLM.

    Parameters
    ----------
    study : Study
    domain, goal : str
    llm : str, optional
        The one whose own trials are spoken of, if it is one.

    Yields
    ------
    tuple
        Sentences.
    """
    if llm:
        yield from _card_of_an_llm(study, domain, goal, llm)
        return
    rows = [row for row in study.held_against(domain, "control") if row["goal"] == goal]
    if not any(row["n_llms"] for row in rows):
        yield say("Nothing can be compared yet.")
        return
    if _are_few(rows):
        yield _too_few(study, domain, rows)
        return
    by_word = decided(rows, goal)
    if not any(row["certainty"] == "established" for row in rows):
        yield say(NOTHING_ESTABLISHED)
    if "use" not in by_word:
        yield say(NONE_BEATS, measures=codes.GOALS[goal].measures)
    for word in ON_A_CARD:
        for row in sorted(by_word.get(word, []), key=lambda row: (-row["gain"], row["technique"])):
            yield _of_all(study, word, goal, row)
    if "equivalent" in by_word:
        text = "No difference with {names}, on average, unless rare LLMs differ."
        yield say(text, names=_names(study, by_word["equivalent"]))
    if "no_evidence" in by_word:
        yield say("Unclear: {names}.", names=_names(study, by_word["no_evidence"]))
    against = [row for row in study.held_against(domain, "placebo") if row["goal"] == goal]
    if against and not any(row["decision"] == "better_than_asking_again" for row in against):
        text = "No technique is shown to do better than the placebo ({control}: neutral questions)."
        yield say_of(study, against[0], text)


def _card_of_an_llm(study, domain, goal, llm):
    rows = study.in_order(study.rows("of_each_llm", domain=domain, goal=goal, llm=llm))
    rows, whom = [row for row in rows if row["gain"] is not None and row["loss"] is not None], study.llm(llm)
    if not rows:
        yield say("{llm} was not asked what can be compared.", llm=whom)
        return
    by_word = decided(rows, goal)
    for word in ON_THE_CARD_OF_AN_LLM:
        for row in sorted(by_word.get(word, []), key=lambda row: (-row["gain"], row["technique"])):
            yield _of_an_llm(study, word, goal, row, whom)
    if not by_word.keys() & {"use", "helps_its_own_prompt", "asking_again_helps"}:
        yield say("**No technique is shown to help {llm}.**", llm=whom)
    if "equivalent" in by_word:
        yield say("No difference with {names}.", names=_names(study, by_word["equivalent"]))
    undecided = by_word.get("no_evidence", [])
    perhaps = [row for row in undecided if on_an_llm(row) == codes.PERHAPS_ASKING_AGAIN]
    if perhaps:
        yield say("It gains with {names}, perhaps by asking again alone.", names=_names(study, perhaps))
    if undecided := [row for row in undecided if row not in perhaps]:
        yield say("Unclear: {names}.", names=_names(study, undecided))
    yield say("This is said of {llm} alone.", llm=whom)


def _of_all(study, word, goal, row):
    than = " than with {control}" if row["control"] != codes.CONTROL else ""
    return say_of(
        study,
        row,
        ON_A_CARD[word].replace("{than}", than),
        better=codes.GOALS[goal].better,
        worse=codes.GOALS[goal].worse,
        **{column: Value(row, column) for column in ("n_gained", "n_llms")},
        sure=codes.CERTAINTY[row["certainty"]],
    )


def _of_an_llm(study, word, goal, row, llm):
    losses = {column: Value(row, column, 1, unit="%") for column in ("loss", "loss_control")}
    text = f"{ON_THE_CARD_OF_AN_LLM[word]} {LOSSES_OF_AN_LLM[goal]}"
    return say_of(study, row, text, llm=llm, **losses)


def in_full(study, domain):
    """Say what the evidence of a study allows for one domain.

    Parameters
    ----------
    study : Study
    domain : str

    Yields
    ------
    tuple
        Sentences.
    """
    rows = study.held_against(domain, "control")
    if not any(row["n_llms"] for row in rows):
        all_rows = [*study.rows("losses", domain=domain, llm=None), *rows]
        reasons = sorted({code for row in all_rows for code in codes_of(row)} - {"", "not_ranked"})
        why = in_words("; ".join(reasons)) if reasons else "no trial had a low or a high anchor"
        yield say("Nothing can be compared here: {why}.", why=why)
        return
    goal = study.leading(domain)
    leading = [row for row in rows if row["goal"] == goal]
    if _are_few(leading):
        yield _too_few(study, domain, leading)
    else:
        yield from _over_vendors(study, domain, leading, goal)
        for other in codes.GOALS:
            if other != goal:
                yield _told(study, rows, other, f"By {other} (secondary)")
        yield from _opposites(study, rows)
    yield from _each_llm(study, domain, goal)
    yield from _first_places(study, domain)
    yield from _controls(study, domain)
    yield from _foretold(study, domain)
    for code, text in LIMITS.items():
        names = _with_code(study, rows, code)
        if not code.startswith("baseline"):
            names += _with_code(study, study.held_against(domain, "placebo"), code, " against the placebo")
        if names:
            yield say(text, names=names)
    yield from _cautions(study, domain)


def _over_vendors(study, domain, rows, goal):
    """Say by the leading goal what is established and what is supported for other LLMs, and what that lacks."""
    established = [row for row in rows if row["certainty"] == "established"]
    if not established:
        yield say(NOTHING_ESTABLISHED)
    if not any(row["decision"] == "use" for row in rows):
        yield say(NONE_BEATS, measures=codes.GOALS[goal].measures)
    told = [row for row in rows if row["decision"] in DECIDED and row not in established]
    for start, subset in (("**Established for LLMs like these**", established), ("Supported over vendors", told)):
        if subset:
            yield _told(study, subset, goal, f"{start}, by {goal}")
    for row in rows:
        if row["decision"] == "helps_its_own_prompt":
            yield from _against_a_plain_prompt(study, domain, row)
    reasons = []
    for code, text in codes.LACKS.items():
        if names := dict.fromkeys(study.technique(row["technique"]) for row in told if _has(row, code)):
            reasons.append(text.format(names=listed(names)))
    if reasons:
        yield say(LACKS, reasons="; ".join(reasons))
    if undecided := [row for row in rows if row["decision"] == "no_evidence"]:
        yield _told(study, undecided, goal, f"By {goal}")


def _against_a_plain_prompt(study, domain, row):
    for plain in study.held_against(domain, "confounded"):
        if (plain["goal"], plain["technique"]) == (row["goal"], row["technique"]):
            place = {"digits": 1, "unit": "%", "table": RANKS, "by": PLACE}
            yield say_of(
                study,
                row,
                BESIDE_PLAIN,
                less=LESS if plain["loss_control"] < row["loss"] else "",
                plain=Value(plain, "loss_control", **place),
                **{column: Value(row, column, **place) for column in ("loss", "loss_control")},
            )


def _told(study, rows, goal, start):
    """Say what is decided by a goal of which techniques."""
    by_word = decided(rows, goal)
    phrases = [TOLD[word].replace("{names}", f"{{{word}}}") for word in by_word]
    names = {word: _names(study, subset) for word, subset in by_word.items()}
    return say(f"{start}: {'; '.join(phrases) or 'nothing'}.", **names)


def _each_llm(study, domain, goal):
    """Say of each technique, LLM by LLM, whom it helps and whom it harms."""
    by_technique = {}
    for row in study.in_order(study.rows("of_each_llm", domain=domain, goal=goal)):
        if row["decision"] is not None:
            by_technique.setdefault(row["technique"], {}).setdefault(on_an_llm(row), []).append(study.llm(row["llm"]))
    for technique, by_word in by_technique.items():
        told = "; ".join(f"{word}: {listed(sorted(llms))}" for word, llms in by_word.items())
        yield say(EACH_LLM, technique=study.technique(technique), told=told)


def _opposites(study, rows):
    """Say where two goals decide the opposite."""
    goals_by_technique = {}
    for row in rows:
        goals_by_technique.setdefault(row["technique"], {}).setdefault(row["decision"], []).append(row["goal"])
    for technique, goals in goals_by_technique.items():
        if {"use", "avoid"} <= set(goals):
            yield say(
                "**The goals contradict each other on {technique}**: use it by {use}, avoid it by {avoid}. Which "
                "matters more is for you to say.",
                technique=study.technique(technique),
                **{word: goals[word] for word in ("use", "avoid")},
            )


def turns(study, domain):
    """Say which one thing, counted otherwise, would change what the interval decides by the leading goal.

    Parameters
    ----------
    study : Study
    domain : str

    Yields
    ------
    tuple
        Sentences, one for each technique.
    """
    goal = study.leading(domain)
    for row in study.held_against(domain, "control"):
        if row["goal"] != goal or not row["n_llms"]:
            continue
        pair = {name: row[name] for name in ("technique", "control")}
        other = {}
        for change in study.rows("switches", domain=domain, **pair):
            if change["decision"] != change["now"]:
                value = study.llm(change["excluded_llm"]) if change["excluded_llm"] else change["value"]
                way = counted_otherwise(change["switch"], value)
                other.setdefault(change["decision"], []).append(way)
        phrases = [f"{codes.DECISIONS[word]} {listed(ways, 'or')}" for word, ways in sorted(other.items())]
        otherwise = "; ".join(phrases) or "the same whichever one thing is counted otherwise"
        text = "**{technique}**, now {decision}: {otherwise}."
        yield say_of(study, row, text, decision=codes.DECISIONS[row["decision"]], otherwise=otherwise)


def _are_few(rows):
    return all(row["certainty"] == "too_few_vendors" for row in rows)


def _has(row, code):
    return code in (row["certainty"], *codes_of(row))


def _names(study, rows):
    return [study.technique(row["technique"]) for row in rows]


def _too_few(study, domain, rows):
    most = max(rows, key=lambda row: (row["n_llms"], row["technique"]))
    ranked = study.rows("losses", domain=domain, goal=study.leading(domain))
    llms = sorted({row["llm"] for row in ranked if row["llm"] and row["rank"] is not None})
    were = "LLM was" if most["n_llms"] == 1 else "LLMs were"
    of = "vendor" if most["n_vendors"] == 1 else "vendors"
    return say(
        f"**Only {{n}} {were} tested, of {{q}} {of} ({{llms}}): nothing is established for LLMs like these**, for "
        f"which LLMs of {FEWEST_VENDORS} vendors are needed.",
        n=Value(most, "n_llms", table=RANKS, by=PLACE),
        q=Value(most, "n_vendors", table=RANKS, by=PLACE),
        llms=[study.llm(llm) for llm in llms],
    )


def _first_places(study, domain):
    by_goal = {goal: study.rows("losses", domain=domain, llm=None, goal=goal) for goal in ("displacement", "gap")}
    first = {goal: [row for row in rows if row["rank"] == 1] for goal, rows in by_goal.items()}
    if all(first.values()) and any(row["goals_disagree"] for rows in by_goal.values() for row in rows):
        yield say(
            "The smallest mean displacement seen is with {displacement}, the smallest mean gap with {gap}: no "
            "technique comes first by both.",
            **{goal: _names(study, rows) for goal, rows in first.items()},
        )


def _controls(study, domain):
    """Say which techniques have another control than no technique, and what they do against a placebo."""
    goal = study.leading(domain)
    own = {row["technique"]: row for row in study.held_against(domain, "control") if row["goal"] == goal}
    for row in study.held_against(domain, "confounded"):
        if row["goal"] == goal:
            yield say_of(
                study,
                own[row["technique"]],
                "{technique} is compared with {control}, which has the same prompt. Answers without any technique came "
                "from another prompt, so nothing is decided on that comparison.",
            )
    placebo = [row for row in study.held_against(domain, "placebo") if row["goal"] == goal and row["decision"]]
    for control in sorted({row["control"] for row in placebo}):
        rows = [row for row in placebo if row["control"] == control]
        text, names = _told(
            study,
            rows,
            goal,
            f"Compared with the placebo ({{control}}: neutral questions), by {goal}",
        )
        yield say_of(study, rows[0], text, **names)


def _foretold(study, domain):
    """Say what an LLM of a new vendor is most likely to be helped by, a plain prompt among the candidates."""
    goal = study.leading(domain)
    rows = study.rows("predictions", domain=domain, goal=goal, llm=None, vendor=None)
    rows = [row for row in rows if row["p_best_new_llm"] is not None]
    if not rows:
        return
    best = max(rows, key=lambda row: (row["p_best_new_llm"], row["technique"]))
    probability = {"scale": 100, "unit": "%", "table": PREDICTIONS, "by": (*PLACE, "vendor")}
    numbers = {"is_best": Value(best, "p_best_new_llm", **probability)}
    text = (
        "For an LLM of a new vendor, if it is like those tested, {technique} is the most likely to have the smallest "
        f"{goal} (P {{is_best}})"
    )
    if best["control"]:
        numbers["helps"] = Value(best, "p_better_than_control", **probability)
        text += "; it beats its control there with P {helps}"
    yield say_of(study, best, f"{text}.", **numbers)


def _with_code(study, rows, code, against=""):
    """Name the techniques whose rows have a code, with the goals unless they are all."""
    goals_by_name = {}
    for row in rows:
        if _has(row, code):
            goals_by_name.setdefault(study.technique(row["technique"]), []).append(row["goal"])
    by = {
        name: "" if len(goals) == len(codes.GOALS) else f" ({', '.join(goals)})"
        for name, goals in goals_by_name.items()
    }
    return [f"{name}{against}{by_goals}" for name, by_goals in by.items()]


def _cautions(study, domain):
    over_llms = study.rows("losses", domain=domain, llm=None, goal=study.leading(domain))
    if any(row["not_identified"] for row in over_llms):
        yield _not_identified(study, over_llms)
    beside = {row["technique"] for row in over_llms} - {codes.CONTROL, "sacd_initial"}
    for row in study.tables["techniques"]:
        if row["technique"] in beside and not row["is_ranked"]:
            yield say_of(study, row, "{technique} is not ranked. {description}.", description=row["description"])


def _not_identified(study, effects):
    """Say that the order could be another, and of which ranked technique most trials have no answer."""
    text = f"Missing answers could change the order by {effects[0]['goal']}."
    ranked = [row for row in effects if row["technique"] in study.ranked]
    if not any(row["n_missing"] for row in ranked):
        return say(text)
    worst = max(ranked, key=lambda row: (row["n_missing"] / max(row["n_asked"], 1), row["technique"]))
    numbers = {
        column: Value(worst, column, table=EFFECTS, by=(*PLACE[:5], "paradigm", "vignette"))
        for column in ("n_missing", "n_asked")
    }
    text += " {n_missing} trials of {technique} have no valid answer, of {n_asked} that were asked."
    return say_of(study, worst, text, **numbers)
