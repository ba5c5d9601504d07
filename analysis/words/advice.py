"""What the evidence on one bias says to somebody who has to choose a technique: sentences, from rows alone.

A goal is what a paradigm names as one or, where it names none, a measure and the arms that it compares.
"""

from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from shlex import quote

from analysis.words import biases, codes, shortfalls, transfer
from analysis.words.changes import counted, sentences
from analysis.words.codes import codes_of, has_rivals, in_ways_of_counting, in_words, listed, probability
from analysis.words.headlines import PARTLY_SIMULATED, SIMULATED, not_ranked
from analysis.words.measures import most_cautious, on_cautious
from analysis.words.settling import likeliest_to_settle, settling
from analysis.words.vendors import UNLISTED_VENDORS, on_unlisted

SIMULATED_FIRST = f"{SIMULATED}: "
FIVE = "five"  # FEWEST_VENDORS and FEWEST_LLMS in words
ERROR = 5  # % of any false use or avoid in a family of decisions
ROUNDING = 1e-9
NOBODY_SAID = "nobody said"  # so begins `differs_by` of a vignette of which it is not known

NOTHING = "nothing is established for {noun}s like these"
ESTABLISHED = "established for {noun}s like these: {phrase}"
SUPPORTED = "Supported over {q} {unit}s: {phrase}"
SUPPORTED_ALONE = "supported over {q} {unit}s, not established: {phrase}"
HANGING = "Not supported, since it hangs on answers that the gate doubts (`bais check` says which): {phrase}"
IN_SHORT_SUPPORTED, IN_SHORT_HANGING = " (supported, not established)", " (hangs on answers that the gate doubts)"
NONE_BEATS = "no technique is shown to beat a plain prompt{where}"
UNDECIDED = "Unclear: {names}"
ALL_HELD_BACK = "nothing is known of techniques: all answers with {names}, asked of {llms}, are held back"
LLM_HELD_BACK = "All answers of {llm} to this bias are held back: {why}. What is shown is of other {noun}s."
LLM_NOT_TESTED = "{llm} was not tested{alike}. What is shown is of other {noun}s."
TOO_FEW_OF_A_KIND = "nothing is established for {noun}s like these: only {n} {was} tested ({five} are needed)"
TOO_FEW_VENDORS = (
    "nothing is established for {noun}s like these: the {those} are of {vendors} ({noun}s of {five} vendors are needed)"
)
ONE_ASKED = "nothing is established for {noun}s like this one: only one was tested ({five} vendors are needed)"
ONE_COMPARED = (
    "nothing is established for {noun}s like these: only one of the {n} tested can be compared{which} ({noun}s of "
    "{five} vendors are needed)"
)
NOT_ESTABLISHED = "Not established: {reasons}."
TO_ESTABLISH = "To establish what is supported takes a new study {parts}."
ESTABLISHING = {
    ("family_not_frozen", "family_changed", "outside_the_family"): (
        "whose decisions are fixed before its first answer (`bais plan` says which)"
    ),
    ("one_case",): "of two cases or more",
    ("before_after",): "that asks a plain prompt in the words of {names}",
    ("attrition_could_reverse", "attrition_could_change"): "with fewer answers missing",
}
# which goal leads where prompts without an anchor differ by more than the anchor or not, and where nobody said
LEADS = {
    "same": "{goal} leads, since prompts without an anchor differ from those with one by the anchor alone.",
    "differs": (
        "{goal} leads, since prompts without an anchor differ by more than the anchor ({differs}), which moves the "
        "average answer too."
    ),
    "unsaid": (
        "{goal} leads, since the import does not say of {vignettes} whether prompts without an anchor differ from "
        "those with one by the anchor alone; where they do, `same` in a column `baseline_prompt` says so."
    ),
    "other": "{other} does not lead: ",
}
OWN_PROMPT = "{name} helps its own prompt alone"
BESIDE_PLAIN = (
    "{name} cuts the {pull} from {loss_control} ({control}) to {loss}. A plain prompt, which has other words, leaves "
    "{plain}{less}."
)
LESS = ", less by the estimate"
ASKING_AGAIN = "asking again helps ({names}, the placebo: neutral questions)"
SEEN = (
    "{name}{placebo}: on average over these {n} {noun}s {effect} ({pull} {loss} instead of {loss_control}{shift}); "
    "not shown for {noun}s like these ({q} vendors)."
)
SEEN_OF_ALL = (
    "{name}{placebo}: on average over these {n} {noun}s {effect} ({pull} {loss} instead of {loss_control}{shift}); "
    "not shown for {noun}s like these."
)
SHIFT_ALONE = "; the shift alone: half of the gap is {half_gap} instead of {half_gap_control} on average"
LLM_BY_LLM = (
    "Each {noun} by its own trials{goal} (up to {error} % chance that any “helps” or “harms” of all {k} is false): "
    "{techniques}."
)
ON_EACH = {
    "use": "helps {n}",
    "helps_its_own_prompt": "helps its own prompt in {n}",
    "asking_again_helps": "(asking again) helps {n}",
    "not_shown_over_placebo": "gains in {n} (perhaps by asking again alone)",
    "equivalent": "makes no difference to {n}",
    "avoid": "harms {n}",
}
HARMED = "Harmed, each {noun} by its own trials: {techniques}."
FEW = "For {whom} only{but} (fewer than {five} {unit}s; + helped, − harmed):"
OF_FEW = "{label}: {does}."
ONE_CASE = " (one case)"
# what is said of the techniques of which a column of `inference.decisions` counts LLMs, by the decisions on these
OF_THESE = (
    ("+", "n_helped", set(codes.HELPS) - {codes.OWN_PROMPT}),
    ("+ for its own prompt", "n_own_prompt", {codes.OWN_PROMPT}),
    ("−", "n_harmed", set(codes.HARMS)),
)  # fmt: skip
NONE_OF_EACH = "is unclear in all {n}"
OUT_OF_REACH = (
    "“No difference” (within {margin}) is out of reach for {names}: {unit}s differ too much, so the interval is wider "
    "than that."
)
TO_ASK = "To ask it: `bais plan --to-settle {domain} --llm {llm}`."
FOR_ASKED = "For {llm}, its own trials drawn towards the other {noun}s{by}: "
FOR_FURTHER = "For {llm}, not tested, as one more LLM of {vendor}{by}: "
FOR_NEW = "For {llm}, not tested, as an {noun} of a new vendor{by}: "
FOR_ANY = "For {whom}, if it is like those tested{by}: "
NOT_PREDICTED = "What {whom} would gain cannot be predicted: {why}."
IS_BEST = "{name} is the likeliest to be best (probability {p}{plain}). "
NONE_IS_LIKELY = (
    "no technique is likely to be best; the likeliest is {name} (probability {p}{plain}), its expected gain {gain} "
    "(95 % prediction interval {low} to {high})."
)
LIKELY = 0.5  # a probability
OF_PLAIN = "; a plain prompt {p}"
PLAIN_IS_BEST = "a plain prompt is the likeliest to be best (probability {p_plain}), of the techniques {name} ({p}). "
EXPECTED = (
    "{name} beats {control} with probability {p}: expected gain {gain} (95 % prediction interval {low} to {high}), "
    "{pull} {loss} instead of {loss_control}."
)
SIMULATED_SAY_NOTHING = "{llm} was not tested, and simulated respondents say nothing about it."
LOSSES = "Losses are {in_percent}roots of mean squares over {over}{besides}, without what noise adds. {measured}."
PLACEBO = {
    "better_than_asking_again": "{name} does better than the placebo ({placebo}: neutral questions) by {gain}: "
    "{certainty}.",
    "equivalent": "The placebo ({placebo}: neutral questions) does as well as {name}: {name} gains {gain}.",
    "worse_than_asking_again": "{name} does worse than the placebo ({placebo}: neutral questions): the gain is {gain}, "
    "{certainty}.",
    "no_evidence": "The placebo ({placebo}: neutral questions) may do as well as {name}, which gains {gain}: "
    "whether the content of {name} adds anything is unclear.",
    None: "The placebo ({placebo}: neutral questions) has another prompt than {name}, which gains {gain}: the "
    "comparison is confounded, so nothing is decided on it.",
}
ERROR_OF_FAMILY = (
    "Any false use or avoid by {goals}: up to {error} %, over all {k} rows that are decided by it, those against a "
    "placebo too{families}."
)
ERROR_OF_ONE = "A false use or avoid by {goals}: up to {error} %{families}."
ERROR_OF_SEVERAL = "Any false use or avoid by {goals}, which lead: up to {error} % each, {total} % together{families}."
FAMILIES = " ({n} families of decisions were declared, each with {each} %)"
ERROR_BESIDE = "The other {kind}s add up to {each} % each: up to {total} % over all {n} {kind}s."
ERROR_OF_EACH = "For each {noun}, any false “helps” or “harms”: up to {each} %{more} by each {kind}."
FIRST_ANSWER = "{name}'s first answer"
ASSUMES = "All that if no rare {noun} is far off and gains are not strongly skewed."


@dataclass(frozen=True)
class Evidence:
    """What the warehouse holds on one bias in one study, over LLMs and for one of them.

    Attributes
    ----------
    domain : str or None
        Of a paradigm that names goals; else all domains are taken together.
    paradigm : str
    llm : str or None
        The LLM that is asked about, if it is one.
    is_asked : bool
        Whether that LLM has trials here.
    sources : list of str
        Where the trials are from.
    biases : list of dict
        As of `analysis.words.biases.sentences`, of a paradigm that names no goals; `mirrors` names the measures that
        are others turned round, and `corrected` has the share without what judges get wrong.
    unaided : list of dict
        As `biases`, of a paradigm that names goals and has measures too.
    places, own, of_llms : list of dict
        Rows of `inference.decisions` over LLMs, of that LLM, and of each LLM, each with `name` and `control_name`.
    predictions : list of dict
        Rows of `inference.predictions` of that LLM; where it has none of one more of its vendor, else of a new vendor.
    llms, without_baseline, unlisted : list of str
        Who was asked; of these, who has no baseline, and whose vendor nobody listed.
    vendors : dict of str to str
        Who made each LLM.
    rankings : list of dict
        Rows of `marts.effects` over LLMs and vignettes.
    costs : dict of str to dict
        By technique: `cost_usd_per_1000` and `reason`.
    next_steps : list of dict
        Rows of `inference.power` of the design `to_settle`.
    study_file : str or None
        Which command writes the study that would settle it, and what that costs, or why none does.
    unaskable : bool
        Whether the words that were asked are not known, so that nobody else can be asked the same.
    vignettes : list of str
    n_asked : dict of str to int
        By LLM, how many trials were asked, without those that were withdrawn.
    changes : list of dict
        Rows of `marts.post_hoc_changes`.
    shortfalls : dict
        What of the answers counts nowhere, as of `analysis.words.shortfalls.combined`.
    held_back : list of dict
        By LLM and technique whose answers are held back: `llm, technique`, its `name`, and `checks`, the codes of what
        their batches fail.
    sensitivity : list of dict
        Of each technique, control and goal, as of `analysis.words.codes.in_ways_of_counting`; as `others` the switch
        and what it was turned to of each other specification that decides otherwise.
    transfer : list of dict
        Rows of `inference.transfer`, this place first.
    goals : dict of str to Goal
        What each goal measures, those that lead first.
    prompts : dict of str to str or None
        By vignette, by what its prompt without an anchor differs from those with one besides the anchor; empty where
        which goal leads does not hang on that.
    base : str or None
        The arm that losses are in per cent of, where it has a name.
    """

    domain: str | None
    paradigm: str = codes.DEFAULT
    llm: str | None = None
    is_asked: bool = True
    sources: list = field(default_factory=list)
    biases: list = field(default_factory=list)
    unaided: list = field(default_factory=list)
    mirrors: dict = field(default_factory=dict)
    corrected: list = field(default_factory=list)
    places: list = field(default_factory=list)
    own: list = field(default_factory=list)
    of_llms: list = field(default_factory=list)
    predictions: list = field(default_factory=list)
    llms: list = field(default_factory=list)
    without_baseline: list = field(default_factory=list)
    unlisted: list = field(default_factory=list)
    vendors: dict = field(default_factory=dict)
    rankings: list = field(default_factory=list)
    costs: dict = field(default_factory=dict)
    next_steps: list = field(default_factory=list)
    study_file: str | None = None
    unaskable: bool = False
    vignettes: list = field(default_factory=list)
    n_asked: dict = field(default_factory=dict)
    changes: list = field(default_factory=list)
    shortfalls: dict = field(default_factory=dict)
    held_back: list = field(default_factory=list)
    sensitivity: list = field(default_factory=list)
    transfer: list = field(default_factory=list)
    goals: dict = field(default_factory=lambda: codes.GOALS)
    prompts: dict = field(default_factory=dict)
    base: str | None = None

    @property
    def leading(self):
        """The goals that are told first."""
        leading = [goal for goal, words in self.goals.items() if words.leads] or self.goals
        return self.cautious(leading)

    def cautious(self, goals):
        """Return those of some goals that are told: of assumed design effects the most cautious."""
        return tuple(most_cautious(goals, lambda goal: f"{goal} {self.called(goal)}"))

    @property
    def is_simulated(self):
        """Whether all that answered are simulated."""
        return self.sources == ["simulated"]

    @property
    def noun(self):
        """What those are called who answered."""
        return "respondent" if self.is_simulated else "LLM"

    @property
    def unit(self):
        """What is a unit of a decision about others: simulated respondents have no vendors."""
        return "respondent" if self.is_simulated else "vendor"

    @property
    def one_more(self):
        """Whom predictions are for where no LLM is asked about: simulated respondents have no vendors."""
        return "one more respondent" if self.is_simulated else "an LLM of a new vendor"

    def of(self, *goals, comparison="control", own=False):
        """Rows of some goals that compare some LLM, by goal the smallest loss first; by default those that decide."""
        return self.among(self.own if own else self.places, *goals, comparison=comparison)

    def among(self, rows, *goals, comparison="control"):
        """Return those of some rows that `of` would return."""
        rows = [row for row in rows if row["goal"] in goals and row["n_llms"] != 0]
        rows = [row for row in rows if row["comparison"] == comparison and row["loss"] is not None]
        return sorted(rows, key=lambda row: (goals.index(row["goal"]), row["loss"], row["technique"]))

    def words(self, row):
        """Return what the goal of a row measures."""
        return self.goals[row["goal"]]

    def named(self, row):
        """Name the technique of a row, with the goal where several lead."""
        return row["name"] if len(self.leading) < 2 else f"{row['name']} by {self.called(row['goal'])}"

    def called(self, goal):
        """Name a goal."""
        return self.goals[goal].name or goal

    def pull(self, goal):
        """Name what the loss of a goal is."""
        return self.goals[goal].pull or goal


def advise(evidence, goal=None):
    """Say what to use, what not, how sure that is, and how far it reaches.

    Parameters
    ----------
    evidence : Evidence
    goal : str, optional
        One of `evidence.goals`, those that lead unless said. The others are set beside it: they can say the opposite,
        and no rule merges them.

    Returns
    -------
    list of dict
        `about` and `text` of each sentence, `answer` first.
    """
    leading = (goal,) if goal else evidence.leading
    answer, *beside = verdict(evidence, goal)
    simulated = SIMULATED_FIRST if evidence.is_simulated else ""
    statements = [
        ("answer", f"{simulated}{answer}"),
        ("partly", PARTLY_SIMULATED if "simulated" in evidence.sources and not evidence.is_simulated else None),
        *(("size", text) for text in _sizes(evidence, leading)),
        ("leading" if goal in (None, *evidence.leading) else "beside", _why_it_leads(evidence, goal)),
        *(("beside", text) for text in beside),
        *(("each", text) for text in _llm_by_llm(evidence, leading)),
        ("goals", _goals(evidence, leading)),
        *(("evidence", text) for text in _counts(evidence, leading)),
        *(("shortfall", text) for text in shortfalls.sentences(evidence.shortfalls, without=("withdrawn",))),
        *(("post_hoc", text) for text in _changes(evidence)),
        *(("reversal", text) for text in _reversals(evidence, leading, are_withheld=False)),
        ("bounds", _above_the_loss(evidence, (goal,) if goal else evidence.goals)),
        *(("incomparable", text) for text in _incomparable(evidence, leading)),
        *(("control", text) for text in _own_controls(evidence, leading)),
        *(("placebo", text) for text in _placebos(evidence, leading)),
        *(("prediction", text) for text in _predictions(evidence, leading)),
        ("scope", _scope(evidence, leading)),
        (UNLISTED_VENDORS, on_unlisted(evidence.unlisted)),
        *(("sensitivity", text) for text in _ways_of_counting(evidence, leading)),
        *(("caveat", text) for text in _caveats(evidence, leading)),
        ("reach", _out_of_reach(evidence, leading)),
        ("cost", _cheapest(evidence, leading)),
        ("next", _next_step(evidence, leading)),
        ("next", _establishing(evidence, leading)),
    ]
    return [{"about": about, "text": text} for about, text in statements if text]


def notes(evidence, goals):
    """Say below the tables of the evidence what their columns mean, and what they rest on.

    Parameters
    ----------
    evidence : Evidence
    goals : tuple of str
        Those that are shown, the leading one first.

    Yields
    ------
    str
    """
    leading = [goal for goal in goals if goal in evidence.leading] or goals[:1]
    rows = [row for row in evidence.places if row["comparison"] == "control" and row["goal"] in leading]
    if any(bias["p_holm"] is not None for bias in evidence.biases):
        yield biases.BY_HOLM
    if any(bias["measured_from"] == "measurement" for bias in evidence.biases):
        yield f"{biases.DESCRIBED}."
    if cautious := on_cautious(bias["instrument"] for bias in evidence.biases):
        yield cautious
    if not rows:
        return
    yield _on_losses(evidence, goals)
    if evidence.biases:
        yield biases.NOT_A_DIFFERENCE
    if decided := [row for row in rows if row["n_comparisons"]]:
        yield _on_gains(evidence, rows, decided)
    if errors := _errors(evidence, goals, leading):
        yield " ".join([*errors, ASSUMES.format(noun=evidence.noun)])
    if cost := _cost(evidence):
        yield cost


def in_brief(evidence, goal=None):
    """Say below the table of gains what is established and supported, and what most limits it.

    Parameters
    ----------
    evidence : Evidence
    goal : str, optional
        As of `advise`.

    Yields
    ------
    str
    """
    leading = (goal,) if goal else evidence.leading
    rows = evidence.of(*leading)
    yield f"{SIMULATED_FIRST if evidence.is_simulated else ''}{headline(evidence, goal)}"
    if evidence.sources != ["simulated"] and "simulated" in evidence.sources:
        yield PARTLY_SIMULATED
    if rows and evidence.llm and not evidence.of(*leading, own=True):
        told = list(_predictions(evidence, leading))
        if evidence.domain and not evidence.is_asked:
            told.append(TO_ASK.format(domain=quote(evidence.domain), llm=quote(evidence.llm)))
        yield " ".join(told if told and not evidence.is_asked else [f"{_without_own_trials(evidence)}.", *told])
    else:
        yield from _own_prompts(evidence, leading)
    yield from _placebos(evidence, leading, words=("better_than_asking_again", "worse_than_asking_again"))
    yield from _opposites(evidence, leading)
    yield from _reversals(evidence, leading, are_withheld=True)
    yield from _caveats(evidence, leading)


def of_few(evidences, goal=None):
    """Say in one paragraph what techniques do to the LLMs, or the one asked about, where vendors are too few for more.

    Parameters
    ----------
    evidences : list of Evidence
    goal : str, optional
        As of `advise`.

    Returns
    -------
    str
    """
    parts, unclear, first = [], [], evidences[0]
    sizes = [_n_compared(evidence, goal) for evidence in evidences]
    are_alike = len({*sizes}) == 1
    for evidence, (n, n_tested) in zip(evidences, sizes, strict=True):
        leading, placebos, does = (goal,) if goal else evidence.leading, _placebos_asked(evidence), []
        rows, own = evidence.of(*leading), evidence.of(*leading, own=True)
        for sign, column, decisions in OF_THESE:
            told = [row for row in own if row["decision"] in decisions] if own else [row for row in rows if row[column]]
            told.sort(key=lambda row: (0 if own else -row[column], row["name"]))
            names = ["asking again" if row["technique"] in placebos else evidence.named(row) for row in told]
            numbers = ["" if own else f" {row[column]}" for row in told]
            if told:
                does.append(f"{sign} {', '.join(map(''.join, zip(names, numbers, strict=True)))}")
        place = label(evidence, rows)
        if not are_alike and not own:
            place += f", {f'{n} of ' * (n < n_tested)}{n_tested} {evidence.noun}{'s' * (n_tested > 1)}"
        if does:
            parts.append(OF_FEW.format(label=place, does="; ".join(does)))
        else:
            unclear.append(place)
    if unclear:
        alike = len(unclear) > 1 and all(place.endswith(ONE_CASE) for place in unclear)
        names = [place.removesuffix(ONE_CASE) for place in unclear] if alike else unclear
        each = f"{ONE_CASE[:-1]} each)" * alike
        parts.append(OF_FEW.format(label=f"{listed(names)}{each}", does=codes.UNCLEAR))
    is_own, (n, n_tested) = any(evidence.own for evidence in evidences), sizes[0]
    if not are_alike:
        those = f"these {first.noun}s"
    elif n < n_tested:
        those = f"{n if n > 1 else 'one'} of the {n_tested} {first.noun}s tested"
    else:
        those = f"these {n} {first.noun}s" if n > 1 else f"this {first.noun}"
    but = f", not {first.llm}" if first.llm and not is_own else ""
    return " ".join([FEW.format(whom=first.llm if is_own else those, but=but, five=FIVE, unit=first.unit), *parts])


def _n_compared(evidence, goal):
    """Count the LLMs of which a technique can be compared with none, and all that were tested."""
    rows = evidence.of(*((goal,) if goal else evidence.leading))
    return max(row["n_llms"] for row in rows), len(evidence.llms)


def on_absence(evidence, checks, alike=""):
    """Say of the LLM that is asked about why it is in no figure that is shown, where no gain is predicted for it.

    Parameters
    ----------
    evidence : Evidence
    checks : dict of str to str
        What each check finds, in a sentence without its end.
    alike : str, optional
        Which LLM may be meant, to be said after that it was not tested.

    Returns
    -------
    str or None
        None where it is in the figures, and where what it would gain is told.
    """
    if evidence.is_asked:
        return None
    held_back = [row for row in evidence.held_back if row["llm"] == evidence.llm]
    if held_back:
        found = dict.fromkeys(checks[code] for row in held_back for code in row["checks"] if code in checks)
        why = "; ".join(f"{text[0].lower()}{text[1:]}" for text in found) or "`bais check` says why"
        return LLM_HELD_BACK.format(llm=evidence.llm, why=why, noun=evidence.noun)
    told = evidence.of(*evidence.leading) or not evidence.biases
    return None if told else LLM_NOT_TESTED.format(llm=evidence.llm, alike=alike, noun=evidence.noun)


def is_of_few(evidence, goal=None):
    """Say whether all that is known of a place is of too few vendors to speak of others.

    Parameters
    ----------
    evidence : Evidence
    goal : str, optional
        As of `advise`.

    Returns
    -------
    bool
    """
    rows = evidence.of(*((goal,) if goal else evidence.leading))
    return bool(rows) and all(row["certainty"] == "too_few_vendors" for row in rows)


def why(evidence, goal=None):
    """Say below the table of all goals, in a line on each topic, what the answer rests on and what would make it surer.

    Parameters
    ----------
    evidence : Evidence
    goal : str, optional
        As of `advise`.

    Yields
    ------
    str
    """
    leading = (goal,) if goal else evidence.leading
    costs = [] if any(cost["reason"] for cost in evidence.costs.values()) else [_cost(evidence)]
    measured = (
        [f"{biases.DESCRIBED}."] if any(bias["measured_from"] == "measurement" for bias in evidence.biases) else []
    )
    topics = {
        "Decided: ": [
            PARTLY_SIMULATED if evidence.sources != ["simulated"] and "simulated" in evidence.sources else None,
            *headlines([evidence], goal, has_sizes=False),
            *_sizes(evidence, leading),
            *_reversals(evidence, leading, are_withheld=True),
            *_lacking(evidence, leading),
        ],
        "": [_harmed(evidence, leading)],
        "How sure: ": [
            _why_it_leads(evidence, goal),
            *(_errors(evidence, evidence.goals, leading)[:1] if evidence.of(*leading) else []),
            *_ways_of_counting(evidence, leading),
            *([] if evidence.llm and not evidence.own else _predictions(evidence, leading)),
            *measured,
        ],
        "Left out: ": [
            *shortfalls.sentences(evidence.shortfalls, without=("withdrawn",)),
            *_caveats(evidence, leading),
            *_changes(evidence),
            *not_ranked(evidence.rankings),
        ],
        "Elsewhere: ": transfer.elsewhere(evidence.transfer),
        "Next: ": [_next_step(evidence, leading, is_brief=True), *costs],
    }
    if evidence.is_simulated:
        yield f"{SIMULATED}."
    yield from (f"{topic}{told}" for topic, texts in topics.items() if (told := " ".join(filter(None, texts))))


def verdict(evidence, goal=None):
    """Say in a few sentences what is established and supported for other LLMs, what is seen, and what it lacks.

    Parameters
    ----------
    evidence : Evidence
    goal : str, optional
        As of `advise`.

    Returns
    -------
    list of str
    """
    leading = (goal,) if goal else evidence.leading
    beside = (
        *_own_prompts(evidence, leading),
        *_opposites(evidence, leading),
        *_reversals(evidence, leading, are_withheld=True),
        *_seen(evidence, (goal,) if goal else evidence.goals),
        *_lacking(evidence, leading),
    )
    return [_answer(evidence, goal), *beside]


def headline(evidence, goal=None):
    """Say in short what is established and supported, and of a measure how large the bias is.

    Parameters
    ----------
    evidence : Evidence
    goal : str, optional
        As of `advise`.

    Returns
    -------
    str
    """
    return next(headlines([evidence], goal))


def headlines(evidences, goal=None, *, has_sizes=True):
    """Say of several places what `headline` says of one, once of those of which it is the same.

    Parameters
    ----------
    evidences : list of Evidence
    goal : str, optional
        As of `advise`.
    has_sizes : bool, optional
        Whether it is said of a measure how large its bias is.

    Yields
    ------
    str
    """
    places = {}
    for evidence in evidences:
        leading = (goal,) if goal else evidence.leading
        if rows := evidence.of(*leading):
            told = _sentences(_reach(evidence, rows, is_brief=True), is_begun=True)
        else:
            told = f"{_nothing_compared(evidence, leading)}."
        if has_sizes and (sizes := evidence.biases or evidence.unaided):
            told += f" {biases.headline(sizes, evidence.noun)}"
        places.setdefault(told, []).append(label(evidence, rows))
    yield from (f"{listed(labels)}: {told}" for told, labels in places.items())


def sorted_by_decision(rows):
    """Sort the rows of a technique by what is decided on it, by whichever of the goals says most.

    Parameters
    ----------
    rows : list of dict
        Rows of `inference.decisions`.

    Returns
    -------
    dict of str to list of dict
        By decision a row of each technique; by `either` those of which one goal says `use` and another `avoid`, by
        `withheld` those that turn the bias round.
    """
    decided = {word: [] for word in (*codes.DECISIONS, "either", "withheld")}
    by_technique = {}
    for row in rows:
        withheld = row["decision"] == "no_evidence" and row["certainty"] == "withheld"
        by_technique.setdefault(row["technique"], {}).setdefault("withheld" if withheld else row["decision"], row)
    ranked = (*codes.HARMS, "withheld", *codes.HELPS, "no_evidence", None, "equivalent")
    for by_word in by_technique.values():
        word = next(word for word in ranked if word in by_word)
        decided["either" if {"use", "avoid"} <= by_word.keys() else word].append(by_word[word])
    return decided


def _answer(evidence, goal):
    leading = (goal,) if goal else evidence.leading
    rows = evidence.of(*leading)
    place = label(evidence, rows) if goal is None else f"{label(evidence, rows)}, by {evidence.called(goal)}"
    if not rows:
        return f"{place}: {_nothing_compared(evidence, leading)}."
    reach = [*_reach(evidence, rows), *_undecided(rows)]
    if not evidence.llm:
        return f"{place}: {_sentences(reach, is_begun=True)}"
    if own := evidence.of(*leading, own=True):
        told = f"for {evidence.llm}, by its own trials, {_of_one_llm(evidence, own)}"
        return f"{place}: {told}. {_sentences(reach)}"
    return f"{place}: {_without_own_trials(evidence)}; {_sentences(reach, is_begun=True)}"


def label(evidence, rows):
    """Name the domain or paradigm of a place, and the case where there is one alone.

    Parameters
    ----------
    evidence : Evidence
    rows : list of dict
        What is told of it, as of `Evidence.of`.

    Returns
    -------
    str
    """
    name = evidence.domain or evidence.paradigm
    if not rows or any(row["n_cases"] != 1 for row in rows):
        return name
    vignettes = list(filter(None, evidence.vignettes))
    return f"{name} (one case: {vignettes[0]})" if len(vignettes) == 1 and vignettes != [name] else f"{name}{ONE_CASE}"


def _sentences(texts, *, is_begun=False):
    """Make sentences of texts without their ends; the first one may have begun before."""
    return " ".join(f"{text if is_begun and not place else _capital(text)}." for place, text in enumerate(texts))


def _without_own_trials(evidence):
    """Say why nothing is said of the LLM that is asked about by its own trials, in a sentence without its end."""
    if not evidence.is_asked:
        is_held_back = evidence.llm in {row["llm"] for row in evidence.held_back}
        return f"the answers of {evidence.llm} are held back" if is_held_back else f"{evidence.llm} was not tested"
    reason = "it has no baseline" if evidence.llm in evidence.without_baseline else "its trials cannot be compared"
    return f"for {evidence.llm} itself all is unclear, since {reason}"


def _nothing_compared(evidence, leading):
    """Say why there is no decision at all."""
    rows = [row for row in evidence.places if row["goal"] in leading and row["comparison"] == "control"]
    if evidence.biases and not rows:
        techniques = [row for row in evidence.held_back if row["technique"] != codes.CONTROL]
        if techniques and all(bias["technique"] == codes.CONTROL for bias in evidence.biases):
            names, llms = (dict.fromkeys(row[key] for row in techniques) for key in ("name", "llm"))
            return ALL_HELD_BACK.format(names=listed(names), llms=shortfalls.some(llms))
        return "no technique was asked" if leading else f"{biases.DESCRIBED[0].lower()}{biases.DESCRIBED[1:]}"
    reasons = {code for row in rows or evidence.rankings for code in codes_of(row)} & set(codes.REASONS)
    return f"unclear of every technique: {in_words('; '.join(sorted(reasons)) or 'nothing_to_rank')}"


def _reach(evidence, rows, *, is_brief=False):
    """Yield what is established for others and what is supported, in sentences without their ends."""
    if all(row["certainty"] == "too_few_vendors" for row in rows):
        yield _too_few(evidence, rows)
        return
    by = sorted_by_decision(rows)

    def chosen(*certainties, others=False):
        words = {word: [row for row in by[word] if (row["certainty"] in certainties) != others] for word in by}
        return _phrase(evidence, rows, words, is_beside=is_brief)

    phrase, hanging = chosen("established"), chosen(codes.HANGS)
    supported = chosen("established", codes.HANGS, others=True)
    is_alone = is_brief and supported and not phrase
    if not is_alone:
        yield (ESTABLISHED if phrase else NOTHING).format(noun=evidence.noun, phrase=phrase)
    if not any(row["control"] == codes.CONTROL for row in by["use"]) and not by["either"]:
        measures = dict.fromkeys(evidence.words(row).measures for row in rows)
        yield NONE_BEATS.format(where=f" in {next(iter(measures))}" if len(measures) == 1 and not is_brief else "")
    if supported:
        yield (SUPPORTED_ALONE if is_alone else SUPPORTED).format(
            unit=evidence.unit, q=max(row["n_vendors"] for row in rows), phrase=supported
        )
    if hanging:
        yield HANGING.format(phrase=hanging)
    if by["withheld"]:
        turn, are = ("turn", "are") if by["withheld"][1:] else ("turns", "is")
        yield f"{_names(by['withheld'])} {turn} the bias round, and {are} not recommended"


def _undecided(rows):
    """Yield of what nothing is decided, unless that is of too few vendors, in a sentence without its end."""
    by = sorted_by_decision(rows)
    undecided = by["no_evidence"] + by[None]
    if undecided and any(row["certainty"] != "too_few_vendors" for row in rows):
        yield UNDECIDED.format(names=_names(undecided))


def _too_few(evidence, rows):
    """Say that too few vendors were asked, and whose LLMs these are."""
    most, n = max(rows, key=lambda row: row["n_llms"]), len(evidence.llms)
    noun, q = evidence.noun, most["n_vendors"]
    if evidence.unit != "vendor":
        was = f"{noun} was" if n == 1 else f"{noun}s were"
        return TOO_FEW_OF_A_KIND.format(noun=noun, n="one" if n == 1 else n, was=was, five=FIVE)
    those = f"{n} {noun}s tested"
    compared = {row["llm"] for row in evidence.of_llms if row["gain"] is not None} or set(evidence.llms)
    if most["n_llms"] == 1:
        which = f", {next(iter(compared)).rpartition('/')[2]}" if len(compared) == 1 else ""
        return (ONE_COMPARED if n > 1 else ONE_ASKED).format(noun=noun, n=n, which=which, five=FIVE)
    if most["n_llms"] < n:
        those = f"{most['n_llms']} of the {n} {noun}s tested that can be compared"
    names = sorted({evidence.vendors[llm] for llm in compared if llm in evidence.vendors})
    vendors = "one vendor" if q == 1 else f"{q} vendors"
    vendors += f", {listed(names)}" if len(names) == q else ""
    return TOO_FEW_VENDORS.format(noun=noun, those=those, vendors=vendors, five=FIVE)


def _phrase(evidence, rows, by, *, is_beside=False):
    """What decisions come to, in one sentence without its end; beside another, without what they do."""

    def does(word, effect):
        techniques = {row["technique"] for row in by[word]}
        same = [row for row in rows if row["technique"] in techniques and row["decision"] == word]
        effects = dict.fromkeys(getattr(evidence.words(row), effect) for row in same)
        return "" if is_beside or len(effects) > 1 else f" ({next(iter(effects))})"

    def named(word, name):
        for row in by[word]:
            told = [other["decision"] == word for other in rows if other["technique"] == row["technique"]]
            yield name(row) if all(told) else f"{name(row)} by {sum(told)} of the {len(told)} comparisons that lead"

    parts = []
    if by["use"]:
        used = listed(named("use", partial(_used, evidence)), "or")
        parts.append(f"use {used}{does('use', 'better')}")
    if by["helps_its_own_prompt"]:
        parts += (OWN_PROMPT.format(name=name) for name in named("helps_its_own_prompt", itemgetter("name")))
    if by["asking_again_helps"]:
        names = listed(named("asking_again_helps", itemgetter("name")))
        parts.append(f"{ASKING_AGAIN.format(names=names)}{does('asking_again_helps', 'better')}")
    if by["avoid"]:
        parts.append(f"avoid {listed(named('avoid', itemgetter('name')))}{does('avoid', 'worse')}")
    if by["either"]:
        parts.append(f"{_names(by['either'])} {codes.EITHER}")
    if by["equivalent"]:
        parts.append(f"on average, unless rare {evidence.noun}s differ, {_no_difference(evidence, by['equivalent'])}")
    return "; ".join(parts)


def _no_difference(evidence, rows):
    makes = "make" if len(rows) > 1 else "makes"
    margin = f"within {evidence.words(rows[0]).amount(rows[0]['margin'], 'g')}"
    return f"{_names(rows)} {makes} no difference ({margin})"


def _of_one_llm(evidence, rows):
    """What techniques do to one LLM, in one sentence without its end."""
    by, parts = sorted_by_decision(rows), []
    for word, verb, effect in (("use", "help", "better"), ("avoid", "harm", "worse")):
        if by[word]:
            names = listed(_used(evidence, row) if word == "use" else row["name"] for row in by[word])
            effects = dict.fromkeys(getattr(evidence.words(row), effect) for row in by[word])
            what = f" ({next(iter(effects))})" if len(effects) == 1 else ""
            parts.append(f"{names} {verb if by[word][1:] else f'{verb}s'}{what}")
    parts += (OWN_PROMPT.format(name=row["name"]) for row in by["helps_its_own_prompt"])
    if by["asking_again_helps"]:
        parts.append(ASKING_AGAIN.format(names=_names(by["asking_again_helps"])))
    if by["either"]:
        parts.append(f"{_names(by['either'])} {codes.EITHER}")
    if by["equivalent"]:
        parts.append(_no_difference(evidence, by["equivalent"]))
    if by["withheld"]:
        parts.append(f"{_names(by['withheld'])} {'turn' if by['withheld'][1:] else 'turns'} the bias round")
    undecided = by["no_evidence"] + by[None]
    perhaps = [row for row in undecided if "not_shown_over_placebo" in codes_of(row)]
    if perhaps:
        parts.append(f"{_names(perhaps)} {'gain' if perhaps[1:] else 'gains'}, perhaps by asking again alone")
    if undecided := [row for row in undecided if row not in perhaps]:
        parts.append(f"unclear: {_names(undecided)}")
    return "; ".join(parts)


def _used(evidence, row):
    """Name a technique to use, with its control where that is no plain prompt."""
    return row["name"] if row["control"] == codes.CONTROL else f"{row['name']} (compared with {_control(row)})"


def _plain(evidence, row):
    """Return the row that compares a technique with a control of its own with a plain prompt."""
    rows = evidence.among(evidence.own if row.get("llm") else evidence.places, row["goal"], comparison="confounded")
    return next((other for other in rows if other["technique"] == row["technique"]), None)


def _own_prompts(evidence, leading):
    """Say of each technique that helps its own prompt alone how far its answers are from what a plain prompt does."""
    own = evidence.of(*leading, own=True)
    for row in own or evidence.of(*leading):
        if row["decision"] == "helps_its_own_prompt" and (plain := _plain(evidence, row)):
            words = evidence.words(row)
            yield BESIDE_PLAIN.format(
                name=row["name"],
                pull=evidence.pull(row["goal"]),
                control=_control(row),
                loss=words.number(row["loss"]),
                loss_control=words.amount(row["loss_control"]),
                less=LESS if plain["loss_control"] < row["loss"] else "",
                plain=words.number(plain["loss_control"]),
            )


def _llm_by_llm(evidence, leading):
    """Say of how many LLMs each technique helps and harms, and whom it harms."""
    if evidence.own:
        return
    for goal in leading:
        techniques, rows = {}, evidence.among(evidence.of_llms, goal)
        for row in rows:
            techniques.setdefault(_used(evidence, row), []).append(row)
        told = [f"{name} {_on_each(of_technique)}" for name, of_technique in techniques.items()]
        if told:
            yield LLM_BY_LLM.format(
                noun=evidence.noun, goal=f", by {evidence.called(goal)}" if len(leading) > 1 else "", error=ERROR,
                k=max(row["n_comparisons"] or 0 for row in rows), techniques="; ".join(told),
            )  # fmt: skip


def _harmed(evidence, leading):
    """Name the LLMs that each technique harms, each by its own trials."""
    techniques = {}
    for row in () if evidence.own else evidence.among(evidence.of_llms, *leading):
        if row["decision"] == "avoid":
            techniques.setdefault(evidence.named(row), []).append(row["llm"].rsplit("/", 1)[-1])
    told = "; ".join(f"{name}: {', '.join(sorted(llms))}" for name, llms in techniques.items())
    return HARMED.format(noun=evidence.noun, techniques=told) if told else None


def _on_each(rows):
    """Say what a technique does to how many LLMs, and whom it harms."""
    parts = []
    for word, does in ON_EACH.items():
        if llms := sorted(row["llm"] for row in rows if word in (row["decision"], *codes_of(row))):
            whom = f" ({listed(llms)})" if word == "avoid" else ""
            parts.append(f"{does.format(n=len(llms))}{'' if parts else f' of {len(rows)}'}{whom}")
    return listed(parts) if parts else NONE_OF_EACH.format(n=len(rows))


def _why_it_leads(evidence, goal):
    """Say why the goal leads that does or, asked about another, why that one does not."""
    if not evidence.prompts or not evidence.of(*evidence.leading):  # nothing leads where nothing is compared
        return None
    differing = {vignette: text for vignette, text in evidence.prompts.items() if text}
    unsaid = [vignette for vignette, text in differing.items() if text.startswith(NOBODY_SAID)]
    told = [f"{vignette}: {text}" for vignette, text in differing.items() if vignette not in unsaid]
    sentence = LEADS["differs" if told else "unsaid" if unsaid else "same"].format(
        goal=listed(map(evidence.called, evidence.leading)), differs="; ".join(told), vignettes=listed(unsaid or [""])
    )
    other = "" if goal in (None, *evidence.leading) else LEADS["other"].format(other=evidence.called(goal))
    return _capital(f"{other}{sentence}")


def _supported(evidence, leading):
    """Return the names of techniques of which something is supported and not established, by the code of what lacks."""
    rows = [row for kind in ("control", "placebo") for row in evidence.of(*leading, comparison=kind)]
    rows = [row for row in rows if row["decision"] in codes.DECIDED]
    rows = [row for row in rows if row["certainty"] in ("supported", "contradicted_elsewhere", codes.HANGS)]
    names = {
        code: dict.fromkeys(row["name"] for row in rows if code in (row["certainty"], *codes_of(row)))
        for code in codes.LACKS
    }
    return {code: listed(of_code) for code, of_code in names.items() if of_code}


def _lacking(evidence, leading):
    """Say what decisions that are supported lack to be established."""
    if lacking := _supported(evidence, leading):
        reasons = (codes.LACKS[code].format(names=names) for code, names in lacking.items())
        yield NOT_ESTABLISHED.format(reasons="; ".join(reasons))


def _establishing(evidence, leading):
    """Say which study would establish what is supported."""
    lacking = _supported(evidence, leading)
    parts = [
        part.format(names=next(lacking[code] for code in of_part if code in lacking))
        for of_part, part in ESTABLISHING.items()
        if lacking.keys() & {*of_part}
    ]
    return TO_ESTABLISH.format(parts=listed(parts)) if parts else None


def _seen(evidence, goals):
    """Say what is seen over the LLMs tested, and not shown over their vendors."""
    placebos = _placebos_asked(evidence)
    for row in () if evidence.own else evidence.of(*goals):
        words = evidence.words(row)
        effect = {"use": words.better, "avoid": words.worse}.get(row["decision_llms"])
        is_limited = row["certainty"] == "withheld" or "not_shown_over_placebo" in codes_of(row)
        if row["decision"] == "no_evidence" and effect and not is_limited:
            placebo = " (the placebo: neutral questions)" if row["technique"] in placebos else ""
            told = SEEN if evidence.unit == "vendor" and row["n_vendors"] < row["n_llms"] else SEEN_OF_ALL
            loss, loss_control = _over_llms(evidence, row)
            yield told.format(
                name=row["name"], placebo=placebo, effect=effect, n=row["n_llms"], noun=evidence.noun,
                pull=evidence.pull(row["goal"]),
                loss=words.amount(loss), loss_control=words.number(loss_control), q=row["n_vendors"],
                shift=_shift_alone(evidence, row),
            )  # fmt: skip


def _over_llms(evidence, row):
    """Return the losses of a row as means over its LLMs, of which each weighs the same: roots of mean squares."""
    keys = ("technique", "control", "goal", "comparison")
    each = [of_llm for of_llm in evidence.of_llms if all(of_llm[key] == row[key] for key in keys)]
    if not each or row["gain_squared"] is None:
        return [
            sum(of_llm[end] for of_llm in each) / len(each) if each else row[end] for end in ("loss", "loss_control")
        ]
    control = sum(of_llm["loss_control"] ** 2 for of_llm in each) / len(each)
    gain = sum(of_llm["gain_squared"] for of_llm in each) / len(each)
    return [max(control - gain, 0) ** 0.5, control**0.5]


def _shift_alone(evidence, row):
    """Say that high and low anchors lie no nearer to each other, where the unanchored prompts differ by more."""
    of_goal = {of["technique"]: of["half_gap"] for of in evidence.rankings if of["goal"] == row["goal"]}
    half_gaps = [of_goal.get(row[name]) for name in ("technique", "control")]
    if not any(evidence.prompts.values()) or None in half_gaps or half_gaps[0] < half_gaps[1]:
        return ""
    words = evidence.words(row)
    return SHIFT_ALONE.format(half_gap=words.amount(half_gaps[0]), half_gap_control=words.number(half_gaps[1]))


def _placebos_asked(evidence):
    """Return the techniques that others are compared with as placebos."""
    return {row["control"] for row in evidence.places if row["comparison"] == "placebo"}


def _out_of_reach(evidence, leading):
    """Name the techniques of which no difference could not be shown, were there none."""
    rows = [row for row in evidence.of(*leading) if row["decision"] == "no_evidence" and row["gain_low"] is not None]
    wide = [row for row in rows if row["margin"] and row["gain_high"] - row["gain_low"] >= 2 * row["margin"]]
    if not wide or wide[0]["certainty"] == "too_few_vendors":
        return None
    margin = evidence.words(wide[0]).amount(wide[0]["margin"], "g")
    names = listed(dict.fromkeys(row["name"] for row in wide))
    return OUT_OF_REACH.format(margin=margin, names=names, unit=evidence.unit)


def _on_losses(evidence, goals):
    """Say what the losses by goals are means of."""
    base = f"answer in {evidence.base} without a technique" if evidence.base else "unanchored answer"
    in_percent = "" if evidence.biases else f"in percent of the {base}, "
    over = "vignettes, LLMs and vendors" if evidence.unit == "vendor" else f"vignettes and {evidence.noun}s"
    rows = [row for row in evidence.places if row["goal"] in goals and row["gain"] is not None]
    squared = {row["goal"] for row in rows if row["gain_squared"] is not None}
    means = [goal for goal in goals if goal in {row["goal"] for row in rows} - squared]
    besides = f" ({listed(map(evidence.called, means))}: means)" if means else ""
    measured = "; ".join(f"{evidence.called(goal)}: {evidence.goals[goal].measures}" for goal in goals)
    return LOSSES.format(in_percent=in_percent, over=over, besides=besides, measured=measured)


def _on_gains(evidence, rows, decided):
    """Say what a gain and its interval are, and what probabilities are of."""
    first = max(decided, key=lambda row: row["n_comparisons"])
    if evidence.own:
        k = max(row["n_comparisons"] or 0 for row in evidence.own)
        interval = f"its interval is of {evidence.llm}'s own trials and holds for all {k} of each LLM at once"
    else:
        k = first["n_comparisons"]
        over = "vendors, of which each is the mean of its LLMs," if evidence.unit == "vendor" else "respondents"
        holds = f"holds for all {k} rows at once, those against a placebo too" if k > 1 else "is for the one row"
        interval = f"its 95 % interval is over {over} and {holds}"
    best = (
        "P(best): that neither a plain prompt nor another technique has a smaller loss, on average over "
        f"{evidence.noun}s (where one more {evidence.noun} is foretold, in that one). "
    ) * (has_rivals(rows) and any(row["p_best"] is not None for row in rows))
    model = (
        "P(worse): of losing on its control, on average. Probabilities are from one model of all techniques, in which "
        f"{evidence.noun}s differ alike on each. "
    ) * any(row["p_worse_than_control"] is not None for row in rows)
    return (
        "gain: by how much the loss is smaller than that of the control, so that it ends at the whole loss; "
        f"{interval}; no difference: within {evidence.words(first).amount(first['margin'], 'g')}. "
        f"{best}{model}A name after vs is the control, where that is no plain prompt."
    )


def _errors(evidence, goals, leading):
    """Say how probable any false decision is, of all rows that are printed as decisions; none where nothing is."""
    rows = [row for row in evidence.places if row["goal"] in goals and row["n_comparisons"]]
    rows = [row for row in rows if row["certainty"] not in (None, "too_few_vendors")]
    # contrasts of arms of one measure share an error, goals have one each
    shared = {row["goal"]: row["measure"] if evidence.biases else row["goal"] for row in rows}
    shared = {goal: shared.get(goal, goal) for goal in (*leading, *goals)}
    n_families, texts, kind = dict.fromkeys(shared.values(), 1), [], _kind(evidence)
    for row in rows:
        n_families[shared[row["goal"]]] = max(n_families[shared[row["goal"]]], row["n_families"] or 1)
    first = dict.fromkeys(shared[goal] for goal in leading)
    most = max(n_families[family] for family in first)
    told = {"error": ERROR * most, "families": FAMILIES.format(n=most, each=ERROR) if most > 1 else ""}
    if rows and len(first) > 1:
        total = ERROR * sum(n_families[family] for family in first)
        texts.append(ERROR_OF_SEVERAL.format(goals=listed(map(evidence.called, leading)), total=total, **told))
    elif rows:
        goal = listed(map(evidence.called, leading))
        goal = f"{goal}, which leads" if len(goals) > len(leading) == 1 else goal
        k = max((row["n_comparisons"] for row in rows if row["goal"] in leading), default=0)
        texts.append((ERROR_OF_FAMILY if k > 1 else ERROR_OF_ONE).format(goals=goal, k=k, **told))
    if rows and len(n_families) > len(first):
        each = ERROR * max(n for family, n in n_families.items() if family not in first)
        total = ERROR * sum(n_families.values())
        texts.append(ERROR_BESIDE.format(kind=kind, each=each, total=total, n=len(n_families)))
    if evidence.of_llms:
        texts.append(ERROR_OF_EACH.format(noun=evidence.noun, each=ERROR, kind=kind, more=" more" if rows else ""))
    return texts


def _sizes(evidence, leading):
    """How large the loss is without a technique, of a paradigm of one's own."""
    if sizes := evidence.biases or evidence.unaided:
        yield from biases.sentences(sizes, evidence.mirrors, evidence.corrected, evidence.noun)
    plain = [row for row in evidence.places if row["technique"] == codes.CONTROL and row["goal"] in leading]
    for row in plain if evidence.base else ():
        if row["loss"] is not None:
            n = row["n_llms"]
            over = f"the one {evidence.noun} tested" if n == 1 else f"{n} {evidence.noun}s"
            yield (
                f"With a plain prompt, {evidence.pull(row['goal'])} over {over} is {row['loss']:.1f} % of the mean "
                f"answer in {evidence.base} ({evidence.words(row).measures})."
            )


def _goals(evidence, leading):
    """What the other goals say."""
    rows, kind = {goal: rows for goal in evidence.goals if (rows := evidence.of(goal))}, _kind(evidence)
    others = [goal for goal in rows if goal not in leading]
    if not rows.keys() & set(leading) or not others:
        return None
    if all(row["certainty"] == "too_few_vendors" for of_goal in rows.values() for row in of_goal):
        return None
    used = [{row["technique"] for row in of_goal if row["decision"] == "use"} for of_goal in rows.values()]
    agree = all(names == used[0] for names in used)
    agreement = (
        f"The {kind}s {'agree' if agree else 'disagree'} on what to use"
        if any(used)
        else f"No {kind} says to use any technique"
    )
    phrases = (
        f"By {evidence.called(goal)} ({evidence.goals[goal].measures}): {_in_short(evidence, rows[goal])}"
        for goal in others
    )
    return ". ".join([agreement, *phrases]) + "."


def _in_short(evidence, rows):
    """What is decided by one goal, and how sure it is, in one sentence without its end."""
    by = sorted_by_decision(rows)
    decided = [row for word in codes.DECIDED for row in by[word]]
    certainties = {row["certainty"] for row in decided}
    how_sure = IN_SHORT_HANGING if codes.HANGS in certainties else IN_SHORT_SUPPORTED
    is_open = decided and "established" not in certainties
    phrase = f"{_phrase(evidence, rows, by, is_beside=True)}{how_sure if is_open else ''}"
    parts = [phrase] * bool(decided or by["either"])
    if by["withheld"]:
        parts.append(f"{_names(by['withheld'])} {'turn' if by['withheld'][1:] else 'turns'} the bias round")
    if undecided := by["no_evidence"] + by[None]:
        parts.append(f"unclear: {_names(undecided)}")
    return "; ".join(parts)


def _opposites(evidence, leading):
    """Name the techniques that one goal is for and another against."""
    is_own = bool(evidence.of(*leading, own=True))
    whom = f"For {evidence.llm}" if is_own else f"For {evidence.noun}s like these"
    by_name = {}
    for row in evidence.of(*dict.fromkeys((*leading, *evidence.goals)), own=is_own):
        effect = {"use": "use", "helps_its_own_prompt": "use", "avoid": "avoid"}.get(row["decision"])
        by_name.setdefault(row["name"], {}).setdefault(effect, []).append(evidence.called(row["goal"]))
    both = [(name, by) for name, by in by_name.items() if {"use", "avoid"} <= by.keys()]
    if both:
        each = (f"{name} helps by {listed(by['use'])} and harms by {listed(by['avoid'])}" for name, by in both)
        yield f"{whom} the {_kind(evidence)}s are opposed: {'; '.join(each)}."


def _reversals(evidence, leading, *, are_withheld):
    """Say of each technique that turns the bias round in whom, and what it gains although it does."""
    own = evidence.of(*leading, own=True)
    for row in own or evidence.of(*leading):
        if "bias_reversed" not in codes_of(row):
            continue
        is_withheld = row["certainty"] == "withheld" or (own and row["decision"] == "no_evidence")
        if bool(is_withheld) != are_withheld:
            continue
        n, those = row["n_reversed"], f"{row['n_llms']} {evidence.noun}s"
        where = f"in {n} of {those}" if n else f"in some of the {those} or in their mean"
        whom = f" of {evidence.llm} round" if own else f" round {where}"
        does = f"turns the bias{whom}"
        if (row["gain_low"] or 0) > 0:
            does = f"brings the bias nearer to none by {_gain(evidence, row)}, but {does}"
        withheld = ": neither “use” nor “no difference” is said of it" if is_withheld else ""
        yield f"{evidence.named(row)} {does}, so that it points the other way{withheld}."


def _counts(evidence, leading):
    """How many LLMs gained and what the interval is, of each technique that is decided on."""
    for row in evidence.of(*leading):
        words = evidence.words(row)
        gained = f"{row['n_gained']} of {row['n_llms']} {evidence.noun}s gained"
        if row["decision"] in (*codes.HELPS, *codes.HARMS):
            of_whom = "" if row["control"] == codes.CONTROL else f" of {_control(row)}"
            if plain := of_whom and _plain(evidence, row):
                of_whom += f" ({words.number(plain['loss_control'])} with a plain prompt, which has other words)"
            yield (
                f"{row['name']}: {gained}; {evidence.pull(row['goal'])} is {words.amount(row['loss'])} instead of "
                f"{words.number(row['loss_control'])}{of_whom}, gain {_gain(evidence, row)}. "
                f"{_capital(codes.CERTAINTY[row['certainty']].replace('LLM', evidence.noun))}."
            )
        elif row["decision"] == "equivalent":
            yield (
                f"{evidence.named(row)}: {gained}, and none surely gains or loses more than "
                f"{words.amount(row['margin'], 'g')}."
            )


def _changes(evidence):
    """Say what people withdrew or reread after they had seen it: of all LLMs, and of that which is asked about."""

    def said(rows, n_asked, whose=""):
        return sentences(counted(rows, n_asked), lambda value, *_: value and f"{value:,}", whose=whose)

    yield from said(evidence.changes, sum(evidence.n_asked.values()))
    if evidence.own:
        own = [row for row in evidence.changes if row["llm"] == evidence.llm]
        yield from said(own, evidence.n_asked.get(evidence.llm, 0), f" of {evidence.llm}")


def _above_the_loss(evidence, goals):
    """Name the gains whose intervals end above the whole loss, which nothing can take away more than."""
    rows = evidence.of(*goals, own=bool(evidence.own))
    rows = [row for row in rows if (row["gain_high"] or 0) > (row["loss_control"] or 0) + ROUNDING]
    phrases = []
    for goal, of_goal in groupby(rows, key=lambda row: row["goal"]):
        words = evidence.goals[goal]
        ends = [
            f"{row['name']} (up to {words.number(row['gain_high'])} of {words.amount(row['loss_control'])})"
            for row in of_goal
        ]
        phrases.append(f"by {evidence.called(goal)} {listed(ends)}")
    return f"{codes.ABOVE_THE_LOSS}: {'; '.join(phrases)}." if phrases else None


def _incomparable(evidence, leading):
    """Name the techniques of which nothing can be said, and why."""
    rows = [row for row in evidence.places if row["goal"] in leading and row["comparison"] == "control"]
    if evidence.of(*leading):
        yield from (
            f"Nothing can be said of {evidence.named(row)}: {in_words(row['reason'])}."
            for row in rows
            if row["gain"] is None
        )


def _own_controls(evidence, leading):
    for row in evidence.of(*leading):
        if row["control"] == codes.CONTROL:
            continue
        sentence = f"{row['name']} is compared with {_control(row)}, since its prompt differs from that of the others."
        if comparison := _plain(evidence, row):
            sentence += (
                f" Compared with a plain prompt {row['name']} gains {_gain(evidence, comparison)}: the "
                "comparison is confounded, so nothing is decided on it."
            )
            if has_rivals(evidence.of(*leading)):
                sentence += " Its P(best) is against a plain prompt, as that of the others."
        yield sentence


def _placebos(evidence, leading, words=tuple(PLACEBO)):
    """Say what techniques do on a placebo, where that is decided in these words or they gain on their control."""
    gains = {
        row["technique"] for row in evidence.of(*leading)
        if row["decision"] in ("use", "helps_its_own_prompt") or "not_shown_over_placebo" in codes_of(row)
    }  # fmt: skip
    for row in evidence.of(*leading, comparison="placebo"):
        is_told = row["technique"] in gains or row["decision"] in codes.DECIDED
        if is_told and row["gain"] is not None and row["decision"] in words:
            names = {"name": row["name"], "placebo": row["control_name"]}
            certainty = codes.CERTAINTY.get(row["certainty"], "").replace("LLM", evidence.noun)
            yield PLACEBO[row["decision"]].format(**names, gain=_gain(evidence, row), certainty=certainty)


def _predictions(evidence, leading):
    """Say which technique an LLM would gain most by."""
    if evidence.is_simulated and evidence.llm and not evidence.is_asked:
        yield SIMULATED_SAY_NOTHING.format(llm=evidence.llm)
        return
    for goal in leading:
        rows = [row for row in evidence.predictions if row["goal"] == goal]
        predictions = [row for row in rows if row["gain"] is not None]
        decided = evidence.of(goal)
        few = bool(decided) and all(row["certainty"] == "too_few_vendors" for row in decided)
        if few and predictions and evidence.unit == "vendor" and predictions[0]["llm"] is None:
            whom = evidence.one_more if evidence.is_asked else f"{evidence.llm}, not tested,"
            yield NOT_PREDICTED.format(whom=whom, why=f"that takes {evidence.noun}s of {FIVE} vendors")
            return
        if predictions:
            of_none = next((row for row in rows if row["technique"] == codes.CONTROL), None)
            yield _prediction(evidence, leading, goal, predictions, of_none)
        elif rows:
            few = any("too_few_llms" in codes_of(row) for row in rows)
            why = f"that takes {FIVE} {evidence.noun}s" if few else in_words(rows[0]["reason"])
            yield NOT_PREDICTED.format(whom=evidence.one_more, why=why)
            return


def _prediction(evidence, leading, goal, predictions, of_none):
    words = evidence.goals[goal]
    best = max(predictions, key=lambda row: (row["p_best_new_llm"] or 0, row["technique"]))
    whose = FOR_ASKED if best["llm"] else FOR_FURTHER if best["vendor"] else FOR_NEW if evidence.llm else FOR_ANY
    start = whose.format(
        llm=evidence.llm, noun=evidence.noun, vendor=best["vendor"], whom=evidence.one_more,
        by=f", by {evidence.called(goal)}" if len(leading) > 1 else "",
    )  # fmt: skip
    plain = (of_none or {}).get("p_best_new_llm")
    low, high = (words.number(best[end]) for end in ("gain_low", "gain_high"))
    expected = {"name": best["name"], "gain": words.amount(best["gain"]), "low": low, "high": high}
    p = best["p_best_new_llm"]
    if has_rivals(predictions) and p is not None:
        of_plain = "" if plain is None else OF_PLAIN.format(p=probability(plain))
        chances = {"p": probability(p), "plain": of_plain, "p_plain": probability(plain)}
        is_plain_best = plain is not None and plain > p
        if p < LIKELY and not is_plain_best:
            return start + NONE_IS_LIKELY.format(**expected, **chances)
        start += (PLAIN_IS_BEST if is_plain_best else IS_BEST).format(name=best["name"], **chances)
    is_plain = best["control"] == codes.CONTROL
    return start + EXPECTED.format(
        **expected, control="a plain prompt" if is_plain else FIRST_ANSWER.format(name=best["name"]),
        p=probability(best["p_better_than_control"]), pull=evidence.pull(goal),
        loss=words.amount(best["expected_loss"]), loss_control=words.number(best["expected_loss"] + best["gain"]),
    )  # fmt: skip


def _scope(evidence, leading):
    rows, noun, n = evidence.of(*leading), evidence.noun, len(evidence.llms)
    if not rows or not n:
        return None
    those = f"these {n} {noun}s" if n > 1 else f"this one {noun}"
    if all(row["certainty"] == "too_few_vendors" for row in rows):
        text = f"Do not generalise beyond {those}: {listed(evidence.llms)}."
    else:
        q = max(row["n_vendors"] for row in rows)
        of_vendors = f", of {q} vendors" if evidence.unit == "vendor" else ""
        text = f"Decisions are for {noun}s like {those}{of_vendors}: {listed(evidence.llms)}."
        if any(row["decision"] not in ("no_evidence", None) for row in rows):
            text += f" They assume that no rare {noun} is far off."
    if evidence.without_baseline:
        text += f" Left out, for want of a baseline: {listed(evidence.without_baseline)}."
    if evidence.vignettes:
        vignettes = "the vignettes" if len(evidence.vignettes) > 1 else "one vignette,"
        cases = "other cases of the domain" if evidence.domain else "other cases"
        text += f" All of it is of {vignettes} {listed(evidence.vignettes)}: {cases} may differ."
    if evidence.llm and not evidence.is_asked and not evidence.unaskable:
        text += (
            f" To ask {evidence.llm}: `bais plan --to-settle {evidence.domain}{codes.option(evidence.paradigm)} --llm "
            f"{quote(evidence.llm)}` writes the study, and `bais collect` asks it."
        )
    return text


def _ways_of_counting(evidence, leading):
    """In how many ways of counting a decision is the same, and in which it is another."""
    key = ("technique", "control", "goal")
    ways = {tuple(row[name] for name in key): row for row in evidence.sensitivity}
    for row in evidence.of(*leading):
        counted_ways = ways.get(tuple(row[name] for name in key))
        if sentence := in_ways_of_counting(evidence.named(row), counted_ways):
            yield sentence


def _caveats(evidence, leading):
    rows = evidence.of(*leading) + evidence.of(*leading, own=True)
    rows = [row for row in rows if row["decision"] in codes.DECIDED or set(codes_of(row)) & set(codes.BARRING)]
    # of what lacks to be established is said why
    lacking = set() if evidence.own else codes.LACKS.keys() - set(codes.BARRING)
    texts = {**codes.CAVEATS, "contradicted_elsewhere": codes.CONTRADICTED}
    for code, text in ((code, text) for code, text in texts.items() if code not in lacking):
        named = (evidence.named(row) for row in rows if code in (row["certainty"], *codes_of(row)))
        if names := dict.fromkeys(named):
            yield text.format(names=listed(names))


def _cost(evidence):
    """Say what a thousand decisions cost, or why that is not known."""
    reasons = {cost["reason"] for cost in evidence.costs.values()} - {None}
    if reasons or not evidence.costs:
        return f"Cost unknown: {in_words('; '.join(sorted(reasons)))}." if reasons else None
    if evidence.is_simulated:
        return "Cost: simulated calls cost nothing."
    names = {row["technique"]: row["name"] for row in evidence.places}
    each = (f"{names[technique]} {cost['cost_usd_per_1000']:,.2f}" for technique, cost in evidence.costs.items())
    return f"USD per 1,000 decisions, mean over LLMs and all domains of the study: {', '.join(each)}."


def _cheapest(evidence, leading):
    """Say which of the techniques to use costs least, where that is not the first of them."""
    used = [row for row in evidence.of(*leading) if row["decision"] == "use"]
    costs = {row["name"]: evidence.costs.get(row["technique"], {}).get("cost_usd_per_1000") for row in used}
    if len(costs) < 2 or None in costs.values():
        return None
    first, least = used[0]["name"], min(costs, key=costs.get)
    if costs[least] >= costs[first]:
        return None
    return f"{least} costs least of these ({costs[least]:,.2f} instead of {costs[first]:,.2f} USD per 1,000 decisions)."


def _next_step(evidence, leading, *, is_brief=False):
    """Say how many more LLMs or trials would settle what is open, and which command writes the study that asks them.

    In brief it is only said which number of vendors has a chance of a half.
    """
    rows, placebos = (row for row in evidence.places if row["goal"] in leading), _placebos_asked(evidence)
    names = {
        (row["technique"], row["control"], row["goal"]): f"asking again ({evidence.named(row)})"
        if row["technique"] in placebos
        else evidence.named(row)
        for row in rows
    }

    def compared(row):
        return row["technique_a"], row["technique_b"], row["goal"]

    steps = [row for row in evidence.next_steps if compared(row) in names]
    if is_brief:
        steps = likeliest_to_settle(steps)
    sentence = settling(
        steps,
        lambda row: names[compared(row)],
        evidence.noun,
        evidence.unit,
        is_cost_known_elsewhere="USD" in (evidence.study_file or ""),
    )
    if sentence and evidence.own:
        sentence = f"For the others, {sentence[0].lower()}{sentence[1:]}"
    return sentence and " ".join(filter(None, [sentence, evidence.study_file]))


def _gain(evidence, row):
    """A gain with its bounds, where there are any."""
    words, low, high = evidence.words(row), row["gain_low"], row["gain_high"]
    bounds = "" if low is None else f" ({words.number(low)} to {words.number(high)})"
    return f"{words.amount(row['gain'])}{bounds}"


def _control(row):
    is_own = row["control"] == f"{row['technique']}_initial"
    return FIRST_ANSWER.format(name=row["name"]) if is_own else row["control_name"]


def _kind(evidence):
    return "measure" if evidence.biases else "goal"


def _names(rows):
    return listed(row["name"] for row in rows)


def _capital(text):
    return f"{text[0].upper()}{text[1:]}"
