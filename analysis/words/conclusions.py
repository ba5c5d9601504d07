"""What a paper on a study of anchoring says of a domain, word for word and without numbers."""

from analysis.words.codes import CAVEATS, CONTRADICTED, GOALS, codes_of

LABELS = {"use": "USE", "avoid": "AVOID", "equivalent": "EQUIVALENT", "no_evidence": "NO EVIDENCE"}
TOO_FEW = "Fewer than five LLMs were asked there, so that nothing is decided about LLMs in general."
RARE = "EQUIVALENT means on average, unless rare LLMs differ."
LIMITS = {
    "contradicted_elsewhere": CONTRADICTED,
    **{code: CAVEATS[code] for code in ("attrition_could_reverse", "reading_would_change")},
}


def conclusion(domain, rankings, decisions, named):
    """Say without numbers what the evidence on a domain comes to.

    Parameters
    ----------
    domain : str
    rankings : list of dict
        Of each technique of the domain, over LLMs: `losses` and `ranks` by goal, `goals_disagree` and `reason`.
    decisions : list of dict
        Rows of `inference.decisions` of what is ranked there, against its control.
    named : dict of str to str
        What techniques are called.

    Returns
    -------
    str
    """
    spoken = domain.replace("_", " ")
    sentences = [_first_places(spoken, rankings, named)]
    if any("too_few_llms" in _codes(row) for row in decisions):
        sentences.append(TOO_FEW)
    for goal, definition in GOALS.items():
        rows = [row for row in decisions if row["goal"] == goal]
        population, sample = (_listed(rows, column, named) for column in ("decision", "decision_asked"))
        if population:
            beside = f"; of the LLMs asked and no others: {sample}" if sample else ""
            sentences.append(
                f"By {goal} ({definition.measures}), the decisions in the domain {spoken} about LLMs like those asked "
                f"are: {population}{beside}."
            )
    if any(row["decision"] == "equivalent" for row in decisions):
        sentences.append(RARE)
    for code, words in LIMITS.items():
        if names := dict.fromkeys(named[row["technique"]] for row in decisions if code in _codes(row)):
            sentences.append(words.format(names=", ".join(names)))
    return " ".join(sentences)


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
        return f"In the domain {domain}, {nearest} shows the smallest displacement and the smallest gap."
    agree = "disagree" if rankings[0]["goals_disagree"] else "share a winner"
    return (
        f"In the domain {domain}, {nearest} shows the smallest displacement and {closest} the smallest gap: the two "
        f"goals {agree}."
    )


def _listed(rows, column, named):
    decided = {
        label: [named[row["technique"]] for row in rows if row[column] == decision]
        for decision, label in LABELS.items()
    }
    return "; ".join(f"{label} for {', '.join(names)}" for label, names in decided.items() if names)


def _codes(row):
    return {row["certainty"], *codes_of(row)}
