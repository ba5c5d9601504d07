"""What stands above a matrix of techniques and LLMs, made from its rows."""

from analysis.words.codes import HARMS, HELPS, OF_AN_LLM, listed

UNCLEAR = "no_evidence"
NAMES_OF_GOALS = {"displacement": "Average answer", "gap": "High–low gap", "error": "Single answer"}
OVER_LLMS = (
    ("use", "Shown to help: {}."),
    ("better_than_asking_again", "Better than asking again: {}."),
    ("helps_its_own_prompt", "Only their own first answers are brought back by {}."),
    ("asking_again_helps", "Asking again in neutral turns helps: {}."),
    ("avoid", "Shown to harm: {}."),
    ("worse_than_asking_again", "Worse than asking again: {}."),
    ("equivalent", "No difference: {}."),
    (UNCLEAR, "Unclear: {}."),
)
OF_ONE = ((HELPS, "helps"), (HARMS, "harms"), (("equivalent",), "no difference"), ((UNCLEAR, None), "unclear"))


def headline(named):
    """Say of techniques what is decided about LLMs like those that were asked.

    Parameters
    ----------
    named : list of (str, dict)
        Techniques by their names, with their rows of `inference.decisions` over all LLMs.

    Returns
    -------
    str
    """
    if not named:
        return "No technique was asked, or none can be compared yet."
    by_decision = {}
    for name, row in named:
        by_decision.setdefault(row["decision"] or UNCLEAR, []).append((name, row))
    parts = [] if "use" in by_decision else ["No technique is shown to beat a plain prompt."]
    for decision, text in OVER_LLMS:
        if pairs := by_decision.get(decision):
            is_told = decision != UNCLEAR
            parts.append(text.format(listed(_with_losses(name, row) if is_told else name for name, row in pairs)))
    return " ".join(parts)


def _with_losses(name, row):
    return f"{name} ({row['loss_control']:.0f} → {row['loss']:.0f} %)"


def on_an_llm(llm, named):
    """Say what techniques do to one LLM.

    Parameters
    ----------
    llm : str
        How it is called.
    named : list of (str, dict)
        Techniques by their names, with their rows of `inference.decisions` on this LLM.

    Returns
    -------
    str
    """
    parts = []
    for decisions, word in OF_ONE:
        if pairs := [(name, row) for name, row in named if row["decision"] in decisions]:
            names = (f"{name} ({OF_AN_LLM[row['decision']]})" if _is_special(row) else name for name, row in pairs)
            parts.append(f"{word}: {listed(names)}")
    return f"In {llm} alone: {'; '.join(parts)}." if parts else f"{llm} was asked with no technique."


def _is_special(row):
    return row["decision"] in HELPS and row["decision"] != "use"


def on_the_llms(row, loss):
    """Say how many of the LLMs that were asked a technique is shown to help, and how many to harm.

    Parameters
    ----------
    row : dict
        Of `inference.decisions`, over all LLMs.
    loss : str
        From which loss to which.

    Returns
    -------
    str
    """
    shown = f"helps {row['n_helped'] or 0}, harms {row['n_harmed'] or 0}"
    return f"Of these {row['n_llms']} LLMs ({loss} on average) it {shown}; the others are unclear or do not differ."
