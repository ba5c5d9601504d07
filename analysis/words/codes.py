"""What codes and numbers of decisions are called: goals, decisions, certainties, reasons, and ways of counting."""

from shlex import quote
from typing import NamedTuple

CONTROL = "no_technique"
LEADING = "displacement"


class Goal(NamedTuple):
    """A goal in words: its unit, what its loss measures, and what a better and a worse technique do to answers.

    A loss times `scale` is in the unit, and is written in the form `form`.
    """

    unit: str
    measures: str
    better: str
    worse: str
    leads: bool = False
    scale: float = 1
    form: str = ".1f"

    def number(self, value, form=None):
        """Write a loss or gain."""
        return f"{self.scale * value:{form or self.form}}"

    def amount(self, value, form=None):
        """Write a loss or gain with its unit."""
        return f"{self.number(value, form)} {self.unit}".rstrip()

    def signed(self, value):
        """Write a gain with its sign."""
        return self.number(value, f"+{self.form}")


GOALS = {
    "displacement": Goal(
        "pp",
        "how far an anchor moves the average answer",
        "an anchor moves the average answer less",
        "an anchor moves the average answer more",
        leads=True,
    ),
    "gap": Goal(
        "pp",
        "how far high and low anchors pull answers apart",
        "high and low anchors pull answers less far apart",
        "high and low anchors pull answers farther apart",
    ),
    "error": Goal(
        "%", "how far off a single answer is", "single answers are less far off", "single answers are farther off"
    ),
}
# the paradigm that a study asks which names none
DEFAULT = "anchoring"
SHIPPED = {DEFAULT: GOALS}


def goals_in_words(stated, base):
    """Say what the goals of a paradigm measure, the leading one first.

    Parameters
    ----------
    stated : list of dict
        `goal, contrasts, distance_of, leads`, as of `staging.stg_paradigms`.
    base : str
        The arm that they are in per cent of.

    Returns
    -------
    dict of str to Goal
    """
    in_order = sorted(stated, key=lambda goal: not goal["leads"])
    return {
        goal["goal"]: _goal_in_words(goal["contrasts"], goal["distance_of"], base)._replace(leads=bool(goal["leads"]))
        for goal in in_order
    }


def _goal_in_words(pairs, distance_of, base):
    if distance_of:
        arms = listed(distance_of)
        off = f"from the mean in {base}"
        return Goal(
            "%",
            f"how far a single answer in {arms} is {off}",
            f"single answers in {arms} are nearer to the mean in {base}",
            f"single answers in {arms} are farther {off}",
        )
    of_pairs = [f"{a} and {b}" for a, b in pairs]
    where = f"{', in '.join(of_pairs[:-1])}, and in {of_pairs[-1]}," if len(pairs) > 1 else of_pairs[0]
    return Goal(
        "pp",
        f"how far the average answers in {where} lie apart{' on average' if len(pairs) > 1 else ''}",
        f"answers in {where} lie less far apart",
        f"answers in {where} lie farther apart",
    )


DECISIONS = {
    "use": "use",
    "avoid": "avoid",
    "equivalent": "no difference",
    "no_evidence": "no evidence",
    None: "none",
}
CERTAINTY = {
    "too_few_llms": "fewer than five LLMs were asked, too few to speak of others",
    "contradicted_elsewhere": "another domain, measure or comparison of arms of the study says the opposite",
    "established": "established for LLMs like those asked",
    "withheld": "what it does is seen, and a decision is withheld for the reason given below",
    "promising": "seen in the LLMs asked, not established for others like them",
    "no_evidence": "the data cannot separate help from harm",
}
REASONS = {
    "too_few_llms": "fewer than five LLMs were asked",
    "one_llm": "the trials of one LLM say little about another",
    "zero_variance": "all its answers are the same, so that chance cannot be told from effect",
    "no_variance_to_correct": "some answers never vary, so that their noise could not be taken off the loss",
    "missing_direction": "low or high anchors were not asked",
    "missing_arm": "an arm of it was not answered",
    "no_baseline": "there is no baseline, since no unanchored trial was answered",
    "baseline_below_10": "LLMs with fewer than 10 unanchored answers are left out",
    "baseline_near_0": "LLMs whose unanchored answers may as well be 0 on average are left out",
    "item_baseline_below_10": "items with fewer than 10 unanchored answers are left out",
    "baseline_below_30": "some LLMs have fewer than 30 unanchored answers",
    "attrition_could_reverse": "missing answers could reverse the decision",
    "reading_would_change": "the recorded numbers, not those of the texts, would change the decision",
    "confounded_prompt": "the two were asked with different prompts",
    "own_control": "it is held against its own first answers, since its prompt differs from that of the others",
    "control_not_asked": "its control was not asked of the same LLMs",
    "not_asked_with_it": "this LLM was not asked with it, so that its other results foretell this one",
    "llms_lacking": "not every technique was asked of the same LLMs",
    "llms_differ": "some of the LLMs asked gain and others lose more than the margin",
    "nothing_to_rank": "no ranked technique has an answer to an anchored question",
    "not_reachable_with_trials": "more trials of the same LLMs would not settle it",
    "effect_too_small": "the effect is too small for any number that can be counted",
    "cost_unknown": "the cost is not known",
    "calls_not_recorded": "the calls were not recorded",
    "price_not_known": "no price is known of an LLM",
    "not_of_every_llm": "not every LLM's calls were recorded",
}
ALL_REASONS = REASONS | {
    "control": "it is what the others are held against",
    "no_spread_to_change": "there is next to no spread to change",
    "not_ranked": "it is not ranked",
    "placebo": "held against a placebo of neutral turns",
}
NO_REASON = "no reason is given"
CAVEATS = {
    "llms_differ": "The LLMs asked differ on {names}: some gain and others lose more than the margin.",
    "attrition_could_reverse": "Missing answers could reverse what is said of {names}.",
    "attrition_could_change": "Had every trial been answered, the decision on {names} could be another.",
    "reading_would_change": "With the recorded numbers, not those of the texts, {names} would be judged otherwise.",
    "baseline_below_10": "Left out of {names}: LLMs with fewer than 10 unanchored answers.",
    "item_baseline_below_10": "Left out of {names}: items with fewer than 10 unanchored answers of an LLM.",
    "baseline_near_0": "Left out of {names}: LLMs whose unanchored answers may as well be 0 on average.",
    "baseline_below_30": "Some LLMs have fewer than 30 unanchored answers, which makes {names} uncertain in them.",
    "confounded_prompt": "{names} and what they are held against were asked with different prompts.",
    "judge_errors_counted": (
        "What judges get wrong is in {names}: their errors add changes where there are none, and make gains look "
        "smaller. `bais tables content.framing_changes` says how large the share is without them (phi_corrected)."
    ),
    "bias_moved": "{names} moves the bias of an LLM by more than the margin, so it is not called no difference.",
}
BARRING = ("reading_would_change", "judge_errors_counted", "bias_moved")  # what is said where nothing is decided too
EITHER = "helps in one comparison and harms in another"
ABOVE_THE_LOSS = (
    "No technique can take away more than the whole loss. Intervals of gains that end above it are not cut, so that "
    "they say how little is known"
)
CONTRADICTED = "Another domain, measure or comparison of arms of this study says the opposite of {names}."
# what is counted otherwise, by the switch of `inference.multiverse`
COUNTED = {
    "reading": "with the {} numbers",
    "row_set": "with the row set {}",
    "baseline": "with the baseline at {}",
    "refusals": "with the missing answers taken as {}",
    "llm_left_out": "without {}",
}
TURNED_TO = {"reparsed": "texts'", "least_gain": "the worst for it", "most_gain": "the best for it"}


def option(paradigm):
    """Return what names a paradigm to a command, which asks of the shipped one unless told another.

    Parameters
    ----------
    paradigm : str

    Returns
    -------
    str
    """
    return "" if paradigm == DEFAULT else f" --paradigm {quote(paradigm)}"


def listed(words, conjunction="and"):
    """Join words as a sentence does.

    Parameters
    ----------
    words : iterable of str
    conjunction : str, optional

    Returns
    -------
    str
    """
    *others, last = words
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def codes_of(row):
    """Return the codes of a row's reason.

    Parameters
    ----------
    row : dict

    Returns
    -------
    list of str
    """
    return (row.get("reason") or "").split("; ")


def in_words(reason):
    """Say why something is null, or what limits it; a code that nobody put in words with spaces.

    Parameters
    ----------
    reason : str or None
        Codes separated by semicolons.

    Returns
    -------
    str
    """
    codes = filter(None, (reason or "").split("; "))
    return "; ".join(ALL_REASONS.get(code, code.replace("_", " ")) for code in codes) or NO_REASON


def counted_otherwise(switch, value):
    """Say what was counted otherwise.

    Parameters
    ----------
    switch : str
        Of `inference.multiverse`.
    value : str
        What was turned: a reading, a row set, a baseline, how missing answers are taken, or the name of an LLM.

    Returns
    -------
    str
    """
    return COUNTED[switch].format(TURNED_TO.get(value, value))


def in_ways_of_counting(name, decision, sensitivity):
    """Say in how many ways of counting a decision on a technique is the same, and in which it is another.

    Parameters
    ----------
    name : str
        Of the technique.
    decision : str or None
    sensitivity : dict or None
        `n_same_decision`, `n_specifications`, `carried_by` and, of those that are `others`, what was turned to what.

    Returns
    -------
    str or None
        Nothing where nothing was decided, or counted in one way alone.
    """
    if not sensitivity or decision in ("no_evidence", None) or sensitivity["n_specifications"] == 1:
        return None
    n = f"{sensitivity['n_same_decision']} of {sensitivity['n_specifications']}"
    statement = f"{name}: the same decision in {n} ways of counting"
    others = [counted_otherwise(switch, value) for switch, value in sensitivity["others"]]
    others += [counted_otherwise("llm_left_out", sensitivity["carried_by"])] if sensitivity["carried_by"] else []
    return f"{statement}, another {listed(others, 'or')}." if others else f"{statement}."


def probability(p):
    """Write a probability from draws, which is never certain.

    Parameters
    ----------
    p : float or None

    Returns
    -------
    str or None
    """
    if p is None:
        return None
    return "> 0.99" if p > 0.99 else "< 0.01" if p < 0.01 else f"{p:.2f}"


def has_rivals(rows):
    """Say whether some technique can be best: of one alone that is certain, and means nothing.

    Parameters
    ----------
    rows : list of dict

    Returns
    -------
    bool
    """
    return len({row["technique"] for row in rows}) > 1
