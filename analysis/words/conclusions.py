"""What a paper on a study of anchoring says of a domain, word for word and without numbers."""

from analysis.words.codes import CAVEATS, CONTRADICTED, DECIDED, GOALS, HARMS, LACKS, codes_of, listed

LABELS = {
    "use": "USE",
    "helps_its_own_prompt": "HELPS ITS OWN PROMPT",
    "asking_again_helps": "ASKING AGAIN HELPS",
    "better_than_asking_again": "BETTER THAN ASKING AGAIN",
    "worse_than_asking_again": "WORSE THAN ASKING AGAIN",
    "avoid": "AVOID",
    "equivalent": "EQUIVALENT",
    "no_evidence": "UNCLEAR",
}
TOO_FEW = "LLMs of fewer than five vendors were tested there, so that nothing is decided about LLMs in general."
NOTHING = "Nothing is established there for LLMs like these."
NONE_BEATS = "No technique is shown to beat a plain prompt in {measures}."
DECISIONS = "By {goal} ({measures}), the decisions in the domain {domain} for LLMs like these are: {decided}."
HOW_SURE = {
    "established": "established",
    "supported": "supported, not established",
    "hangs_on_suspect_rows": "not supported, since it hangs on answers that the gate doubts",
}
LACKING = "Why they are not established: {reasons}."
OF_EACH_LLM = "Each LLM by its own trials: {harmed}."
HARMS_WHOM = "{technique} harms {llms}"
RARE = "EQUIVALENT means on average, unless rare LLMs differ."
LIMITS = {
    "contradicted_elsewhere": CONTRADICTED,
    **{code: CAVEATS[code] for code in ("attrition_could_reverse", "reading_would_change", "hangs_on_suspect_rows")},
}


def conclusion(domain, rankings, decisions, of_each_llm, named):
    """Say without numbers what the evidence on a domain comes to.

    Parameters
    ----------
    domain : str
    rankings : list of dict
        Of each technique of the domain, over LLMs: `losses` and `ranks` by goal, `goals_disagree` and `reason`.
    decisions : list of dict
        Rows of `inference.decisions` of what is ranked there, against its control.
    of_each_llm : list of dict
        The same of single LLMs.
    named : dict of str to str
        What techniques are called.

    Returns
    -------
    str
    """
    spoken = domain.replace("_", " ")
    sentences = [_first_places(spoken, rankings, named)]
    if any("too_few_vendors" in _codes(row) for row in decisions):
        sentences.append(TOO_FEW)
    elif decisions and not any(row["certainty"] == "established" for row in decisions):
        sentences.append(NOTHING)
    for goal, definition in GOALS.items():
        rows = [row for row in decisions if row["goal"] == goal]
        if any(row["is_primary"] for row in rows) and not any(row["decision"] == "use" for row in rows):
            sentences.append(NONE_BEATS.format(measures=definition.measures))
        if listed_ := _listed(rows, named):
            words = {"goal": goal, "measures": definition.measures, "domain": spoken, "decided": listed_}
            sentences.append(DECISIONS.format(**words))
    if any(row["decision"] == "equivalent" for row in decisions):
        sentences.append(RARE)
    reasons = []
    for code, words in LACKS.items():
        if names := dict.fromkeys(named[row["technique"]] for row in decisions if _lacks(row, code)):
            reasons.append(words.format(names=", ".join(names)))
    if reasons:
        sentences.append(LACKING.format(reasons="; ".join(reasons)))
    for code, words in LIMITS.items():
        limited = (row for row in decisions if code in _codes(row) and not _lacks(row, code))
        if names := dict.fromkeys(named[row["technique"]] for row in limited):
            sentences.append(words.format(names=", ".join(names)))
    if harmed := _harmed(of_each_llm, named):
        sentences.append(OF_EACH_LLM.format(harmed=harmed))
    return " ".join(sentences)


def lacking(row, name):
    """Say what a decision that is supported lacks to be established.

    Parameters
    ----------
    row : dict
        Of `inference.decisions`.
    name : str
        Of its technique.

    Returns
    -------
    list of str
    """
    return [text.format(names=name) for code, text in LACKS.items() if _lacks(row, code)]


def _first_places(domain, rankings, named):
    nearest, closest = (
        " and ".join(named[row["technique"]] for row in rankings if row["ranks"][goal] == 1)
        for goal in ("displacement", "gap")
    )
    if not nearest or not closest:
        reasons = sorted({code for row in rankings for code in codes_of(row)} - {"", "not_ranked"})
        why = f" ({', '.join(reasons).replace('_', ' ')})" if reasons else ""
        return f"In the domain {domain} no technique can be ranked by displacement and by gap{why}."
    if nearest == closest:
        return f"In the domain {domain}, {nearest} shows the smallest mean displacement and the smallest mean gap."
    agree = "disagree" if rankings[0]["goals_disagree"] else "share a winner"
    return (
        f"In the domain {domain}, {nearest} shows the smallest mean displacement and {closest} the smallest mean gap: "
        f"the two goals {agree}."
    )


def _listed(rows, named):
    decided = {label: [row for row in rows if row["decision"] == decision] for decision, label in LABELS.items()}
    return "; ".join(f"{label} for {_named(of, named)}" for label, of in decided.items() if of)


def _named(rows, named):
    """Name techniques with how sure the decision on each is."""
    sure = (HOW_SURE.get(row["certainty"]) for row in rows)
    return ", ".join(
        f"{named[row['technique']]} ({word})" if word else named[row["technique"]]
        for row, word in zip(rows, sure, strict=True)
    )


def _lacks(row, code):
    return row["decision"] in DECIDED and row["certainty"] == "supported" and code in _codes(row)


def _harmed(rows, named):
    """Name who is harmed by what, and by which goals."""
    llms, goals = {}, {}
    for goal in GOALS:
        for row in rows:
            if row["goal"] == goal and row["decision"] in HARMS:
                llms.setdefault((named[row["technique"]], goal), []).append(row["llm"])
    for (name, goal), harmed in llms.items():
        goals.setdefault(HARMS_WHOM.format(technique=name, llms=listed(harmed)), []).append(goal)
    return "; ".join(f"{harms} by {listed(of_both)}" for harms, of_both in goals.items())


def _codes(row):
    return {row["certainty"], *codes_of(row)}
