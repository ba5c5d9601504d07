"""What codes and numbers of decisions are called: goals, decisions, certainties, reasons, and ways of counting."""

from shlex import quote
from typing import NamedTuple

CONTROL = "no_technique"
POINTS = "points"


class Goal(NamedTuple):
    """A goal in words: its unit, what its loss measures, and what a better and a worse technique do to answers.

    A loss times `scale` is in the unit, and is written in the form `form`. A reader sees the goal as `name` and its
    loss as `pull`; a goal that a study names itself has neither, and is called as it is there.
    """

    unit: str
    measures: str
    better: str
    worse: str
    leads: bool = False
    scale: float = 1
    form: str = ".1f"
    name: str | None = None
    pull: str | None = None

    @property
    def spoken_unit(self):
        """The unit as sentences and tables have it."""
        return POINTS if self.unit == "pp" else self.unit

    def number(self, value, form=None):
        """Write a loss or gain."""
        return f"{self.scale * value:{form or self.form}}"

    def amount(self, value, form=None):
        """Write a loss or gain with its unit."""
        return f"{self.number(value, form)} {self.spoken_unit}".rstrip()

    def signed(self, value):
        """Write a gain with its sign."""
        return self.number(value, f"+{self.form}")


GOALS = {
    "displacement": Goal(
        "pp",
        "how far average answers to anchors lie from unanchored ones",
        "anchored answers lie nearer to unanchored ones",
        "anchored answers lie farther from unanchored ones",
        name="average answer",
        pull="pull on the average answer",
    ),
    "gap": Goal(
        "pp",
        "how far high and low anchors pull answers apart",
        "high and low anchors pull answers less far apart",
        "high and low anchors pull answers farther apart",
        name="high–low gap",
        pull="high–low gap",
    ),
    "error": Goal(
        "%",
        "how far off a single answer is",
        "single answers are less far off",
        "single answers are farther off",
        name="single answer",
        pull="pull on a single answer",
    ),
}
# the paradigm that a study asks which names none
DEFAULT = "anchoring"
SHIPPED = {DEFAULT: GOALS}


def leading_first(goals, leading):
    """Say of goals in words which of them lead, and put these first.

    Parameters
    ----------
    goals : dict of str to Goal
    leading : collection of str

    Returns
    -------
    dict of str to Goal
    """
    in_order = sorted(goals, key=lambda name: name not in leading)
    return {name: goals[name]._replace(leads=name in leading) for name in in_order}


def goals_in_words(stated, base):
    """Say what the goals of a paradigm measure.

    Parameters
    ----------
    stated : list of dict
        `goal, contrasts, distance_of`, as of `staging.stg_paradigms`.
    base : str
        The arm that they are in per cent of.

    Returns
    -------
    dict of str to Goal
    """
    return {goal["goal"]: _goal_in_words(goal["contrasts"], goal["distance_of"], base) for goal in stated}


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


UNCLEAR = "unclear"
DECISIONS = {
    "use": "use",
    "helps_its_own_prompt": "helps its own prompt",
    "asking_again_helps": "asking again helps",
    "better_than_asking_again": "better than asking again",
    "worse_than_asking_again": "worse than asking again",
    "avoid": "avoid",
    "equivalent": "no difference",
    "no_evidence": UNCLEAR,
    None: "none",
}
# what a technique does to the one LLM that a decision is about
OF_AN_LLM = {
    "use": "helps",
    "helps_its_own_prompt": "helps its own prompt",
    "asking_again_helps": "asking again helps",
    "better_than_asking_again": "better than asking again",
    "worse_than_asking_again": "worse than asking again",
    "avoid": "harms",
    "equivalent": "no difference",
    "no_evidence": UNCLEAR,
    None: "none",
}
# how a terminal draws a gain and its interval
MARKS = {
    "decided": ("●", "the gain, where something is decided"),
    "open": ("○", "the gain, where it is unclear"),
    "interval": (
        "├─┤",
        "95 % interval, for all rows of a study, domain and goal at once; of one LLM, for all LLMs and techniques",
    ),
    "none": ("│", "no gain: as much pull as the control"),
    "beyond": ("◄ ►", "the interval leaves the scale"),
}
HANGS, DOUBTED = "hangs_on_suspect_rows", ", in doubt"
PERHAPS_ASKING_AGAIN = "perhaps asking again"  # gains on a plain prompt, and is not shown to on a placebo
OWN_PROMPT = "helps_its_own_prompt"
HELPS = ("use", OWN_PROMPT, "asking_again_helps", "better_than_asking_again")
HARMS = ("avoid", "worse_than_asking_again")
DECIDED = (*HELPS, *HARMS, "equivalent")
CERTAINTY = {
    "one_llm": "said of this LLM alone, by its own trials",
    "too_few_vendors": "the LLMs tested are of fewer than five vendors, too few to speak of others",
    "contradicted_elsewhere": "another domain, measure or comparison of arms of the study says the opposite",
    "hangs_on_suspect_rows": "decided with answers that the gate doubts, and another decision without them",
    "established": "established for LLMs like these",
    "supported": "supported for LLMs like these, not established",
    "withheld": "what it does is seen, and a decision is withheld for the reason given below",
    "no_evidence": "the data cannot separate help from harm",
}
# why what judges get wrong is not taken off a share
WHY_COUNTED = {
    "no_known_label": "of no text it is known which label is right",
    "label_never_known": "of one of the labels no text is known to have it",
    "judges_cannot_tell": "the labels that judges give hang too little on the right ones",
    "no_identity_pair": "no text was judged a second time, as if it were an answer",
    "too_few_identity_pairs": "fewer than 100 texts were judged a second time, as if they were answers",
    "errors_not_independent": "judged twice, texts get two labels more or less often than by independent errors",
}
REASONS = {
    "too_few_llms": "fewer than five LLMs were asked",
    "too_few_vendors": "the LLMs tested are of fewer than five vendors",
    "one_llm": "the trials of one LLM say little about another",
    "one_vendor": "the LLMs tested are of one vendor, which says nothing of another",
    "zero_variance": "all its answers are the same, so that chance cannot be told from effect",
    "no_variance": "all answers of a cell are the same, so that nothing is sure of this LLM",
    "no_variance_to_correct": "some answers never vary, so that their noise could not be taken off the loss",
    "missing_direction": "low or high anchors were not asked",
    "missing_arm": "an arm of it was not answered",
    "no_baseline": "there is no baseline, since no unanchored trial was answered",
    "baseline_below_10": "LLMs with fewer than 10 unanchored answers are left out",
    "baseline_near_0": "LLMs whose unanchored answers may as well be 0 on average are left out",
    "item_baseline_below_10": "items with fewer than 10 unanchored answers are left out",
    "baseline_below_30": "some LLMs have fewer than 30 unanchored answers",
    "attrition_could_reverse": "missing answers could reverse the decision",
    "attrition_could_change": "missing answers could change the decision",
    "reading_would_change": "the recorded numbers, not those of the texts, would change the decision",
    "hangs_on_suspect_rows": "without the answers that the gate doubts the decision would be another",
    "confounded_prompt": "the two had different prompts",
    "own_control": "it is compared with its own first answer, since its prompt differs from that of the others",
    "before_after": "its first and last answer share a trial, so that asking again might do it",
    "placebo_not_asked": "no placebo (neutral questions) was asked beside it",
    "part_of_use": "whether it gains on a placebo is part of whether that is called use, and no decision by itself",
    "not_shown_over_placebo": "it gains on a plain prompt, and is not shown to gain on the placebo (neutral questions)",
    "family_not_frozen": "what to decide was not fixed before the first answer (not preregistered)",
    "family_changed": "what would be decided was changed after it had been fixed",
    "outside_the_family": "more is decided than was fixed before the first answer, or by another margin",
    "one_case": "there is only one case",
    "gap_shrinks_with_level": "answers are lower with it, so that the level alone may make the gap smaller",
    "no_technique_not_asked": "no plain prompt was asked that all could be compared with",
    "one_technique": "of one technique alone no place says anything",
    "valid_range_unknown": "it is not known what missing answers could have been",
    "control_not_asked": "its control was not asked of the same LLMs",
    "no_shared_llm": "no LLM was asked with each of the data sets",
    "not_asked_with_it": "this LLM was not asked with it, so that its other results foretell this one",
    "llms_lacking": "not every technique was asked of the same LLMs",
    "llms_differ": "some LLM surely gains or loses more than the margin",
    "nothing_to_rank": "no ranked technique has an answer to an anchored question",
    "not_reachable_with_trials": "more trials of the same LLMs would not settle it",
    "effect_too_small": "the effect is too small for any number that can be counted",
    "cost_unknown": "the cost is not known",
    "calls_not_recorded": "the calls were not recorded",
    "unsigned": "it counts what differs by chance too, so that it is not held against none",
    "error_as_answer": "an error message stands in the place of the answer",
    "price_not_known": "no price is known of an LLM",
    "not_of_every_llm": "not every LLM's calls were recorded",
    **WHY_COUNTED,
}
ALL_REASONS = REASONS | {
    "bias_reversed": "it surely turns the bias of some LLM round, by more than it was",
    "control": "the others are compared with it",
    "no_spread_to_change": "there is next to no spread to change",
    "not_ranked": "it is not ranked",
    "placebo": "compared with the placebo (neutral questions)",
}
NO_REASON = "no reason is given"
CAVEATS = {
    "placebo_not_asked": "No placebo was asked beside {names}: asking again might do as much.",
    "gap_shrinks_with_level": (
        "With {names} answers are surely lower, and high and low ones are not surely nearer by a factor: the lower "
        "level alone may make the gap smaller."
    ),
    "llms_differ": "{names} surely moves some LLM by more than the margin, so it is not called no difference.",
    "attrition_could_reverse": "Missing answers could reverse what is said of {names}.",
    "attrition_could_change": "Missing answers could change the decision on {names}.",
    "reading_would_change": "The recorded numbers, not those of the texts, would change the decision on {names}.",
    "hangs_on_suspect_rows": (
        "Without the answers that the gate doubts (`bais check` says which) the decision on {names} would be another."
    ),
    "baseline_below_10": "Left out of {names}: LLMs with fewer than 10 unanchored answers.",
    "item_baseline_below_10": "Left out of {names}: items with fewer than 10 unanchored answers of an LLM.",
    "baseline_near_0": "Left out of {names}: LLMs whose unanchored answers may as well be 0 on average.",
    "baseline_below_30": "Some LLMs have fewer than 30 unanchored answers, which makes {names} uncertain in them.",
    "confounded_prompt": "{names} and their controls had different prompts.",
    "judge_errors_counted": (
        "What judges get wrong is in {names}: their errors add changes where there are none, and make gains look "
        "smaller."
    ),
    **{code: f"What judges get wrong cannot be taken off {{names}}: {why}." for code, why in WHY_COUNTED.items()},
    "bias_moved": "{names} moves the bias of an LLM by more than the margin, so it is not called no difference.",
}
# what is said where nothing is decided too
BARRING = ("reading_would_change", "hangs_on_suspect_rows", "judge_errors_counted", "bias_moved", "llms_differ")
# what a decision lacks to be established, by the code of its row; those of several techniques name them
LACKS = {
    "family_not_frozen": "not fixed before the first answer",
    "family_changed": "changed after it had been fixed",
    "outside_the_family": "more is decided than was fixed, or by another margin",
    "one_case": "one case only",
    "before_after": "first and last answer share a trial, so asking again might do it ({names})",
    "attrition_could_reverse": "missing answers could reverse it ({names})",
    "attrition_could_change": "missing answers could change it ({names})",
    "reading_would_change": "the recorded numbers, not those of the texts, would change it ({names})",
    "hangs_on_suspect_rows": "without the answers that the gate doubts it would be another ({names})",
    "contradicted_elsewhere": "another domain, measure or comparison of arms says the opposite ({names})",
}
EITHER = "helps in one comparison and harms in another"
ABOVE_THE_LOSS = (
    "No technique can take away more than the whole loss. Noise was taken off losses and not off intervals of gains: "
    "those that end above the loss are not cut, so that they say how little is known"
)
CONTRADICTED = "Another domain, measure or comparison of arms of this study says the opposite of {names}."
# what is counted otherwise, by the switch of `inference.multiverse`
COUNTED = {
    "reading": "with the {} numbers",
    "row_set": "with the row set {}",
    "baseline": "with the baseline at {}",
    "refusals": "with the missing answers taken as {}",
    "llm_left_out": "without {}",
    "vendor_left_out": "without the LLMs of {}",
}
WAYS, LEFT_OUT = "{n} of {of} ways of counting", "{n} of {of} that leave out an LLM or a vendor"
LEFT_OUT_OF_FIVE = "{n} of {of} that leave out an LLM (no vendor can be left out of five)"
ANOTHER = "another {}"
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


def on_an_llm(row):
    """Say in short what a technique does to the LLM of a row.

    Parameters
    ----------
    row : dict
        Of `inference.decisions`.

    Returns
    -------
    str
    """
    return PERHAPS_ASKING_AGAIN if "not_shown_over_placebo" in codes_of(row) else OF_AN_LLM[row["decision"]]


def on_llms(row):
    """Say in short what is decided about LLMs like those asked, and whether that hangs on answers in doubt.

    Parameters
    ----------
    row : dict
        Of `inference.decisions`.

    Returns
    -------
    str
    """
    return f"{DECISIONS[row['decision']]}{DOUBTED if row['certainty'] == HANGS else ''}"


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


def in_ways_of_counting(name, sensitivity):
    """Say in how many ways of counting an interval decides the same, and without how many LLMs or vendors.

    Parameters
    ----------
    name : str
        Of the technique.
    sensitivity : dict or None
        `decision` of the recommended way, as the interval alone has it; `n_same_decision` of `n_specifications`,
        `n_left_out_same` of `n_left_out`, `is_of_five` vendors, `carried_by` and, of those that are `others`, what was
        turned to what.

    Returns
    -------
    str or None
        Nothing where nothing was decided, or counted in one way alone.
    """
    if not sensitivity or sensitivity["decision"] in ("no_evidence", None):
        return None
    parts = []
    if sensitivity["n_specifications"] > 1:
        others = [counted_otherwise(switch, value) for switch, value in sensitivity["others"]]
        part = WAYS.format(n=sensitivity["n_same_decision"], of=sensitivity["n_specifications"])
        parts.append(f"{part} ({ANOTHER.format(listed(others, 'or'))})" if others else part)
    if sensitivity["n_left_out"]:
        left_out = LEFT_OUT_OF_FIVE if sensitivity["is_of_five"] else LEFT_OUT
        part = left_out.format(n=sensitivity["n_left_out_same"], of=sensitivity["n_left_out"])
        carried = sensitivity["carried_by"]
        without = ANOTHER.format(f"without {listed(carried.split(', '), 'or')}") if carried else None
        parts.append(f"{part} ({without})" if carried else part)
    return f"{name}: the interval decides the same in {' and '.join(parts)}." if parts else None


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
    """Say whether some technique can be best among several: of one alone that means nothing.

    Parameters
    ----------
    rows : list of dict

    Returns
    -------
    bool
    """
    return len({row["technique"] for row in rows} - {CONTROL}) > 1
