"""What a decision may be called, in view of placebos, of other prompts, and of what else would be needed.

An interval says use, avoid, equivalent or nothing (`analysis.engine.rule`). Whether that is the technique's doing is
known from the rows beside it: those against a placebo, and those against a plain prompt of another wording.
"""

from analysis.counts import CONTROL
from analysis.engine.guards import HANGS, WITHHELD
from analysis.methods.small_samples import FEWEST_VENDORS
from analysis.tables import reasons

ASKING_AGAIN, OWN_PROMPT = "asking_again_helps", "helps_its_own_prompt"
# what is said against a placebo, which is asked with as many turns
AGAINST_PLACEBO = {"use": "better_than_asking_again", "avoid": "worse_than_asking_again"}
GAINS, LOSSES = {"use", ASKING_AGAIN, OWN_PROMPT, AGAINST_PLACEBO["use"]}, {"avoid", AGAINST_PLACEBO["avoid"]}
# codes for which nothing is established
COULD_TURN = ("attrition_could_reverse", "attrition_could_change", "reading_would_change")
PLACE = ("domain", "goal", "measure", "instrument", "arm", "arm_b", "technique", "comparison", "llm")
ONE_CASE, BEFORE_AFTER, PART_OF_USE = "one_case", "before_after", "part_of_use"


def verdicts(rows, placebos):
    """Yield rows of decisions with what each may be called and how sure that is.

    Parameters
    ----------
    rows : list of dict
        Of one study and paradigm, as of `analysis.engine.decisions.decisions`, with `family_reason`: the code that
        keeps what is decided from being established for its family's sake, or None.
    placebos : collection of str
        The techniques that are placebos, also where nothing else was asked beside them.

    Yields
    ------
    dict
        With `decision` and `certainty`. A gain on the control is `use` where there is one on a placebo of
        the same prompt too, or none was asked (`placebo_not_asked`); that of a placebo itself is `asking_again_helps`;
        one on a technique's own first answers is `helps_its_own_prompt` where a plain prompt loses less by the goal
        that leads. Whether a single LLM gains on a placebo enters into `use` alone and is not decided on by itself.
    """
    places = {_place(row): row for row in rows}
    plain_loses_less = {
        _of_any_goal(row)
        for row in rows
        if row.get("comparison") == "confounded" and row["leads"] and (row.get("gain") or 0) < 0
    }
    worded = []
    for row in rows:
        decision, codes = row.get("decision"), []
        if row.get("comparison") == "placebo":
            decision = AGAINST_PLACEBO.get(decision, decision)
        elif row.get("comparison") == "control":
            if decision == "use":
                decision, codes = _of_a_gain(row, places, placebos, plain_loses_less)
            if row["control"] not in (None, CONTROL) and decision != "no_evidence":
                codes = [*codes, BEFORE_AFTER]
        worded.append(row | {"decision": decision, "reason": reasons(row.get("reason"), *codes)})
    by_llm = {}
    for row in worded:
        if row["llm"] is not None and row.get("comparison") == "placebo":
            row |= {"decision": None, "reason": reasons(row["reason"], PART_OF_USE)}
        elif row["llm"] is not None:
            by_llm.setdefault(_place(row | {"llm": None}), []).append(row["decision"])
    elsewhere = {}
    for row in worded:
        if row["llm"] is None:
            elsewhere.setdefault(_told_apart(row), set()).add(row["decision"])
    for row in worded:
        certain = _with_certainty(row, elsewhere[_told_apart(row)] if row["llm"] is None else set())
        if row["llm"] is None and row.get("n_llms") and row.get("comparison") in ("control", "confounded"):
            counted = (("n_helped", GAINS - {OWN_PROMPT}), ("n_own_prompt", {OWN_PROMPT}), ("n_harmed", LOSSES))
            certain |= {name: sum(word in words for word in by_llm.get(_place(row), ())) for name, words in counted}
        yield {name: value for name, value in certain.items() if name not in ("leads", "family_reason")}


def _of_a_gain(row, places, placebos, plain_loses_less):
    """Return what a gain on the control is called, and codes that limit it."""
    if row["technique"] in placebos:
        return ASKING_AGAIN, []
    if row["control"] != CONTROL and _of_any_goal(row) in plain_loses_less:
        return OWN_PROMPT, []
    against = places.get(_place(row | {"comparison": "placebo"}))
    if against is None or against["decision"] is None:  # of another prompt, on which nothing is decided
        return "use", ["placebo_not_asked"]
    return ("use", []) if against["decision"] == "use" else ("no_evidence", ["not_shown_over_placebo"])


def _with_certainty(row, elsewhere):
    """The row with the first of the words that holds of how sure its decision is."""
    decision = row["decision"]
    if decision is None:
        return row
    if row["n_vendors"] < FEWEST_VENDORS or row["llm"] is not None:
        return row | {"certainty": "one_llm" if row["llm"] is not None else "too_few_vendors"}
    if row.get("certainty") == WITHHELD or decision == "no_evidence":
        return row | {"certainty": WITHHELD if row.get("certainty") == WITHHELD else "no_evidence"}
    if any(decision in these and elsewhere & those for these, those in ((GAINS, LOSSES), (LOSSES, GAINS))):
        return row | {"certainty": "contradicted_elsewhere"}
    if HANGS in (row["reason"] or "").split("; "):
        return row | {"certainty": HANGS}
    codes = [
        *filter(None, [row["family_reason"]]),
        *(code for code in (ONE_CASE,) if row["n_cases"] < 2),
    ]
    present = set((row["reason"] or "").split("; "))
    is_established = not codes and not present & {*COULD_TURN, BEFORE_AFTER}
    return row | {
        "certainty": "established" if is_established else "supported",
        "reason": reasons(row["reason"], *codes),
    }


def _place(row):
    return tuple(row.get(name) for name in PLACE)


def _of_any_goal(row):
    return tuple(row.get(name) for name in PLACE if name not in ("goal", "comparison"))


def _told_apart(row):
    """What two rows share of which one may contradict the other."""
    return row["technique"], row["goal"], row.get("comparison")
