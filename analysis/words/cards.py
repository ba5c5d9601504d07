"""What the page says of a domain of anchoring: on cards by goal and LLM, and the answer in full.

A sentence is a text and what stands in its braces: texts, lists of texts, and each `Value` with where it is from. What
matters most stands between double asterisks.
"""

from typing import NamedTuple

from analysis.methods.small_samples import FEWEST_LLMS
from analysis.words import codes
from analysis.words.codes import codes_of, counted_otherwise, in_words, listed

RANKS, PREDICTIONS, EFFECTS = "inference.decisions", "inference.predictions", "marts.effects"
PLACE = ("study", "domain", "llm", "technique", "goal", "control")
ON_A_CARD = {
    "use": "**Use {technique}.** With it {better}{than}, in {n_gained} of {n_llms} LLMs: {sure}.",
    "avoid": "**Avoid {technique}.** With it {better}{than} in only {n_gained} of {n_llms} LLMs: {sure}.",
}
ON_THE_CARD_OF_AN_LLM = {
    "displacement": "With {technique} an anchor moves its average answer by {loss} of its unanchored one, with "
    "{control} by {loss_control}.",
    "gap": "With {technique} high and low anchors pull its average answers {loss} of its unanchored one apart, with "
    "{control} {loss_control}.",
    "error": "With {technique} its single answers are {loss} off, with {control} {loss_control}.",
}
SPOKEN = {
    "use": "use {{{}}}",
    "avoid": "avoid {{{}}}",
    "equivalent": "no difference with {{{}}}",
    "no_evidence": "no evidence on {{{}}}",
}
OF_WHOM = {"decision": "LLMs like those asked", "decision_asked": "the LLMs asked and no others"}
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


def decided(rows, goal, column):
    """Return the rows of one goal by what is decided, in the order of `SPOKEN`."""
    by_word = {word: [row for row in rows if row["goal"] == goal and row[column] == word] for word in SPOKEN}
    return {word: subset for word, subset in by_word.items() if subset}


def card(study, domain, goal, llm=None):
    """Say the answer by one goal in short: what to use and to avoid, how sure that is, and the placebo.

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
        rows = study.in_order(study.rows("of_each_llm", domain=domain, goal=goal, llm=llm))
        rows = [row for row in rows if row["gain"] is not None and row["loss"] is not None]
    else:
        rows = [row for row in study.held_against(domain, "control") if row["goal"] == goal]
    whom = llm and study.llm(llm)
    if not any(row["n_llms"] for row in rows):
        yield say("{llm} was not asked what can be compared." if llm else "Nothing can be compared yet.", llm=whom)
        return
    if not llm and _are_few(rows):
        yield _too_few(study, domain, rows)
        yield _of_whom(study, rows, goal, "decision_asked", "Of")
        return
    by_word = decided(rows, goal, "decision_asked" if llm else "decision")
    for word in ON_A_CARD:
        for row in sorted(by_word.get(word, []), key=lambda row: (-row["gain"], row["technique"])):
            yield _of_an_llm(study, word, goal, row, whom) if llm else _of_all(study, word, goal, row)
    if "use" not in by_word:
        yield say("**No technique is shown to help {llm}.**" if llm else "**No technique is shown to help.**", llm=whom)
    no_evidence = "No evidence on {names}." if llm else "No evidence for or against {names}."
    for word, text in (("equivalent", "No difference with {names}."), ("no_evidence", no_evidence)):
        if word in by_word:
            yield say(text, names=_names(study, by_word[word]))
    against = [row for row in study.held_against(domain, "placebo") if row["goal"] == goal]
    if llm:
        yield say("This is said of {llm} alone.", llm=whom)
    elif against and not any(row["decision"] == "use" for row in against):
        text = "No technique is shown to do better than {control}, a placebo of neutral turns."
        yield say_of(study, against[0], text)


def _of_all(study, word, goal, row):
    than = " than with {control}" if row["control"] != codes.CONTROL else ""
    return say_of(
        study,
        row,
        ON_A_CARD[word].replace("{than}", than),
        better=codes.GOALS[goal].better,
        **{column: Value(row, column) for column in ("n_gained", "n_llms")},
        sure=codes.CERTAINTY[row["certainty"]],
    )


def _of_an_llm(study, word, goal, row, llm):
    losses = {column: Value(row, column, 1, unit="%") for column in ("loss", "loss_control")}
    text = f"**{word.capitalize()} {{technique}} with {{llm}}.** {ON_THE_CARD_OF_AN_LLM[goal]}"
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
    leading = [row for row in rows if row["goal"] == codes.LEADING]
    primary, are_few = decided(leading, codes.LEADING, "decision"), _are_few(leading)
    if are_few:
        yield _too_few(study, domain, leading)
    else:
        if "use" not in primary:
            yield say("**No technique is shown to be better than its control in LLMs like those asked.**")
        rare = "; no difference means on average, unless rare LLMs differ" if "equivalent" in primary else ""
        yield _of_whom(study, leading, codes.LEADING, "decision", "By displacement, of", rare)
    yield _of_whom(study, leading, codes.LEADING, "decision_asked", "By displacement, of")
    yield from _other_goals(study, rows, "decision_asked" if are_few else "decision")
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


def turns(study, domain):
    """Say which one thing, counted otherwise, would change what is decided by displacement, a line for each technique.

    Of LLMs like those asked where enough were asked, else of the LLMs asked.

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
    leading = [row for row in rows if row["goal"] == codes.LEADING and row["n_llms"]]
    column = "decision_asked" if _are_few(leading) else "decision"
    for row in leading:
        pair = {name: row[name] for name in ("technique", "control")}
        other = {}
        for change in study.rows("switches", domain=domain, **pair):
            if change[column] != row[column]:
                value = study.llm(change["excluded_llm"]) if change["excluded_llm"] else change["value"]
                other.setdefault(change[column], []).append(counted_otherwise(change["switch"], value))
        phrases = [f"{codes.DECISIONS[word]} {listed(ways, 'or')}" for word, ways in sorted(other.items())]
        otherwise = "; ".join(phrases) or "the same whichever one thing is counted otherwise"
        text = "**{technique}**, now {decision}: {otherwise}."
        yield say_of(study, row, text, decision=codes.DECISIONS[row[column]], otherwise=otherwise)


def _are_few(rows):
    return all(row["n_llms"] < FEWEST_LLMS for row in rows)


def _names(study, rows):
    return [study.technique(row["technique"]) for row in rows]


def _spoken(study, rows, goal, column):
    """Say what is decided of which techniques; strongly only of LLMs like those asked."""
    by_word = decided(rows, goal, column)
    phrases = [
        f"**{phrase}**" if column == "decision" and word in ON_A_CARD else phrase
        for word in by_word
        for phrase in [SPOKEN[word].format(f"{column}_{word}")]
    ]
    names = {f"{column}_{word}": _names(study, decided_rows) for word, decided_rows in by_word.items()}
    return say("; ".join(phrases) or "nothing", **names)


def _of_whom(study, rows, goal, column, start, end=""):
    text, names = _spoken(study, rows, goal, column)
    return say(f"{start} {OF_WHOM[column]}: {text}{end}.", **names)


def _too_few(study, domain, rows):
    most = max(rows, key=lambda row: (row["n_llms"], row["technique"]))
    ranked = study.rows("losses", domain=domain, goal=codes.LEADING)
    llms = sorted({row["llm"] for row in ranked if row["llm"] and row["rank"] is not None})
    were = "LLM was" if most["n_llms"] == 1 else "LLMs were"
    return say(
        f"**Only {{n}} {were} asked ({{llms}}): nothing is decided about other LLMs**, for which {FEWEST_LLMS} are "
        "needed.",
        n=Value(most, "n_llms", table=RANKS, by=PLACE),
        llms=[study.llm(llm) for llm in llms],
    )


def _other_goals(study, rows, column):
    """Say what the secondary goals decide, and where two goals decide the opposite."""
    for goal in codes.GOALS:
        if goal != codes.LEADING:
            yield _of_whom(study, rows, goal, column, f"By {goal} (secondary), of")
    goals_by_technique = {}
    for row in rows:
        goals_by_technique.setdefault(row["technique"], {}).setdefault(row[column], []).append(row["goal"])
    for technique, goals in goals_by_technique.items():
        if {"use", "avoid"} <= set(goals):
            yield say(
                f"**The goals contradict each other on {{technique}}**: of {OF_WHOM[column]}, use it by {{use}}, avoid "
                "it by {avoid}. Which matters more is for you to say.",
                technique=study.technique(technique),
                **{word: goals[word] for word in ON_A_CARD},
            )


def _first_places(study, domain):
    by_goal = {goal: study.rows("losses", domain=domain, llm=None, goal=goal) for goal in ("displacement", "gap")}
    first = {goal: [row for row in rows if row["rank"] == 1] for goal, rows in by_goal.items()}
    if all(first.values()) and any(row["goals_disagree"] for row in by_goal["gap"]):
        yield say(
            "The smallest displacement seen is with {displacement}, the smallest gap with {gap}: no technique comes "
            "first by both.",
            **{goal: _names(study, rows) for goal, rows in first.items()},
        )


def _controls(study, domain):
    """Say which techniques have another control than no technique, and what they do against a placebo."""
    own = {row["technique"]: row for row in study.held_against(domain, "control") if row["goal"] == codes.LEADING}
    for row in study.held_against(domain, "confounded"):
        if row["goal"] == codes.LEADING:
            yield say_of(
                study,
                own[row["technique"]],
                "{technique} is held against {control}, which was asked with the same prompt. Answers without any "
                "technique came from another prompt, so that nothing is decided against them.",
            )
    placebo = [row for row in study.held_against(domain, "placebo") if row["goal"] == codes.LEADING]
    for control in sorted({row["control"] for row in placebo}):
        rows = [row for row in placebo if row["control"] == control]
        of_all, names = _of_whom(study, rows, codes.LEADING, "decision", "of")
        of_asked, names_asked = _of_whom(study, rows, codes.LEADING, "decision_asked", "Of")
        text = f"Against {{control}}, a placebo of neutral turns, by displacement, {of_all} {of_asked}"
        yield say_of(study, rows[0], text, **names, **names_asked)


def _foretold(study, domain):
    """Say what an LLM that nobody asked is most likely to be helped by."""
    rows = study.rows("predictions", domain=domain, goal=codes.LEADING, llm=None)
    rows = [row for row in rows if row["p_best_new_llm"] is not None]
    if rows:
        best = max(rows, key=lambda row: (row["p_best_new_llm"], row["technique"]))
        probability = {"scale": 100, "unit": "%", "table": PREDICTIONS, "by": PLACE}
        yield say_of(
            study,
            best,
            "For an LLM that nobody asked, if it is like those asked, {technique} is the most likely to have the "
            "largest gain in displacement (P {is_best}); it beats its control there with P {helps}.",
            is_best=Value(best, "p_best_new_llm", **probability),
            helps=Value(best, "p_better_than_control", **probability),
        )


def _with_code(study, rows, code, against=""):
    """Name the techniques whose rows have a code, with the goals unless they are all."""
    goals_by_name = {}
    for row in rows:
        if code in (row["certainty"], *codes_of(row)):
            goals_by_name.setdefault(study.technique(row["technique"]), []).append(row["goal"])
    by = {
        name: "" if len(goals) == len(codes.GOALS) else f" ({', '.join(goals)})"
        for name, goals in goals_by_name.items()
    }
    return [f"{name}{against}{by_goals}" for name, by_goals in by.items()]


def _cautions(study, domain):
    over_llms = study.rows("losses", domain=domain, llm=None, goal=codes.LEADING)
    if any(row["not_identified"] for row in over_llms):
        yield _not_identified(study, over_llms)
    beside = {row["technique"] for row in over_llms} - {codes.CONTROL, "sacd_initial"}
    for row in study.tables["techniques"]:
        if row["technique"] in beside and not row["is_ranked"]:
            yield say_of(study, row, "{technique} is not ranked. {description}.", description=row["description"])


def _not_identified(study, effects):
    """Say that the order could be another, and of which ranked technique most trials have no answer."""
    text = "The order by displacement is not identified: had everybody answered, it could be another one."
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
