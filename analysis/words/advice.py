"""What the evidence on one bias says to somebody who has to choose a technique: sentences, from rows alone.

A goal is what a paradigm names as one or, where it names none, a measure and the arms that it compares.
"""

import re
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from shlex import quote

from analysis.words import biases, codes
from analysis.words.changes import counted, sentences
from analysis.words.codes import codes_of, has_rivals, in_ways_of_counting, in_words, listed, probability
from analysis.words.headlines import PARTLY_SIMULATED, SIMULATED
from analysis.words.settling import settling

SIMULATED_FIRST = f"{SIMULATED}: "
FIVE = "five"  # FEWEST_LLMS in words
MOST_IN_BRIEF = 5  # sentences


PLACEBO = {
    "use": "{name} also gains on {placebo}, a placebo of neutral turns, by {gain}: content helps, not turns alone.",
    "equivalent": "{placebo}, a placebo of neutral turns, does as well as {name}, which gains {gain} on it.",
    "avoid": "{placebo}, a placebo of neutral turns, does better than {name}, which gains {gain} on it.",
    "no_evidence": "{placebo}, a placebo of neutral turns, may do as well as {name}, which gains {gain} on it: the "
    "data cannot tell whether the content of {name} adds anything.",
    None: "{placebo}, a placebo of neutral turns, was asked with another prompt than {name}, which gains {gain} on it: "
    "a confounded comparison, on which nothing is decided.",
}


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
    places, own : list of dict
        Rows of `inference.decisions` over LLMs, and of that LLM, each with `name` and `control_name`.
    predictions : list of dict
        Rows of `inference.predictions` of that LLM; of one that nobody asked where it has none.
    llms, without_baseline : list of str
        Who was asked; of these, who has no baseline.
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
    sensitivity : list of dict
        Of each technique, control and goal: `n_same_decision`, `n_specifications`, `carried_by`, and as `others` the
        switch and what it was turned to of each other specification that decides otherwise.
    goals : dict of str to Goal
        What each goal measures, those that lead first.
    base : str or None
        The arm that losses are in per cent of, where it has a name.
    """

    domain: str | None
    paradigm: str = codes.DEFAULT
    llm: str | None = None
    is_asked: bool = True
    sources: list = field(default_factory=list)
    biases: list = field(default_factory=list)
    mirrors: dict = field(default_factory=dict)
    corrected: list = field(default_factory=list)
    places: list = field(default_factory=list)
    own: list = field(default_factory=list)
    predictions: list = field(default_factory=list)
    llms: list = field(default_factory=list)
    without_baseline: list = field(default_factory=list)
    rankings: list = field(default_factory=list)
    costs: dict = field(default_factory=dict)
    next_steps: list = field(default_factory=list)
    study_file: str | None = None
    unaskable: bool = False
    vignettes: list = field(default_factory=list)
    n_asked: dict = field(default_factory=dict)
    changes: list = field(default_factory=list)
    sensitivity: list = field(default_factory=list)
    goals: dict = field(default_factory=lambda: codes.GOALS)
    base: str | None = None

    @property
    def leading(self):
        """The goals that are told first."""
        return tuple(goal for goal, words in self.goals.items() if words.leads) or tuple(self.goals)

    @property
    def is_simulated(self):
        """Whether all that answered are simulated."""
        return self.sources == ["simulated"]

    @property
    def noun(self):
        """What those are called who answered."""
        return "respondent" if self.is_simulated else "LLM"

    def of(self, *goals, comparison="control", own=False):
        """Rows of some goals that compare some LLM, by goal the smallest loss first; by default those that decide."""
        rows = [row for row in (self.own if own else self.places) if row["goal"] in goals and row["n_llms"] != 0]
        rows = [row for row in rows if row["comparison"] == comparison and row["loss"] is not None]
        return sorted(rows, key=lambda row: (goals.index(row["goal"]), row["loss"], row["technique"]))

    def words(self, row):
        """Return what the goal of a row measures."""
        return self.goals[row["goal"]]

    def named(self, row):
        """Name the technique of a row, with the goal where several lead."""
        return row["name"] if len(self.leading) < 2 else f"{row['name']} by {row['goal']}"


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
        *(("beside", text) for text in beside),
        ("goals", _goals(evidence, leading)),
        *(("evidence", text) for text in _counts(evidence, leading)),
        *(("post_hoc", text) for text in _changes(evidence)),
        ("bounds", _above_the_loss(evidence, (goal,) if goal else evidence.goals)),
        *(("incomparable", text) for text in _incomparable(evidence, leading)),
        *(("control", text) for text in _own_controls(evidence, leading)),
        *(("placebo", text) for text in _placebos(evidence, leading)),
        *(("prediction", text) for text in _predictions(evidence, leading)),
        ("scope", _scope(evidence, leading)),
        *(("sensitivity", text) for text in _ways_of_counting(evidence, leading)),
        *(("caveat", text) for text in _caveats(evidence, leading)),
        ("cost", _cheapest(evidence, leading)),
        ("next", _next_step(evidence, leading)),
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
    if not rows:
        return
    measured = "; ".join(f"{goal}: {evidence.goals[goal].measures}" for goal in goals)
    base = f"answer in {evidence.base} without a technique" if evidence.base else "unanchored answer"
    losses = "means" if evidence.biases else f"in percent of the {base}, means"
    items = "items and " if evidence.base or evidence.biases else ""
    yield f"Losses are {losses} over {items}vignettes, then LLMs. {measured}."
    if evidence.biases:
        yield biases.NOT_A_DIFFERENCE
    if any(row["n_comparisons"] for row in rows):
        first = max(rows, key=lambda row: row["n_comparisons"] or 0)
        whose = f"its interval is of {evidence.llm}'s own trials and" if evidence.own else "its 95 % interval"
        n = first["n_comparisons"]
        holds = f"holds for all {n} techniques at once" if n > 1 else "is for the one technique asked"
        on_placebo = evidence.of(*goals, comparison="placebo")
        if n_on_placebo := max((row["n_comparisons"] or 0 for row in on_placebo), default=0):
            holds += f" (against a placebo, for the {n_on_placebo} held against it)"
        best = (
            "P(best): of the smallest loss, on average over LLMs (where one more LLM is foretold, in that LLM); for a "
            "plain prompt, that no technique gains. "
        ) * has_rivals(rows)
        yield (
            "gain: loss of the control less that of the technique, without what noise adds to either; "
            f"{whose} {holds}; no difference: within {evidence.words(first).amount(first['margin'], 'g')}. "
            f"{best}P(worse): of losing on its control, on average. "
            "Probabilities are from one model of all techniques, in which LLMs differ alike on each. Trials compared: "
            "its own and its control's. A name after vs is what a technique is held against "
            "instead of a plain prompt."
        )
    decides = any(row["certainty"] != "too_few_llms" for row in rows)
    if decides and len(goals) > 1:
        decide = "decides" if len(leading) == 1 else "decide"
        yield (
            f"Chance of any false use or avoid, if no rare LLM is far off: up to {5 * len(leading)} % by "
            f"{listed(leading)}, which {decide}; up to {5 * len(goals)} % over all {_kind(evidence)}s."
        )
    reasons = {cost["reason"] for cost in evidence.costs.values()} - {None}
    yield from (f"Cost unknown: {in_words(reason)}." for reason in sorted(reasons))
    if evidence.costs and not reasons:
        paid = "simulated calls cost nothing; " if evidence.is_simulated else ""
        yield f"Cost: {paid}mean over LLMs, of all domains of the study."


def in_brief(sentences, *, of_one_llm=False):
    """Choose what is said before the evidence is shown: the answer, and what most limits it, each sentence whole.

    Parameters
    ----------
    sentences : list of dict
        As `advise` gives them.
    of_one_llm : bool, optional
        Whether one LLM is asked about, of which what it would gain comes next.

    Returns
    -------
    list of str
        The texts, at most five sentences in all.
    """
    order = ("answer", "llm", "size", *(("prediction",) if of_one_llm else ()), "beside", "placebo", "caveat", "scope")
    chosen, left = [], MOST_IN_BRIEF
    for text in (sentence["text"] for about in order for sentence in sentences if sentence["about"] == about):
        whole = re.split(r"(?<=\.)\s+(?=[A-Z])", text)
        if left:
            chosen.append(" ".join(whole[:left]))
            left -= len(whole[:left])
    return chosen


def verdict(evidence, goal=None):
    """Say what to use and what not in a few sentences, those of the LLMs asked never without that of LLMs like them.

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
    reversed_ = _reversals(evidence, leading)
    return [_answer(evidence, goal), *_asked(evidence, leading), *_opposites(evidence, leading), *reversed_]


def headline(evidence):
    """Say what to use and what not, and of a measure how large the bias is.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    str
    """
    size = biases.headline(evidence.biases, evidence.noun) if evidence.biases else None
    return " ".join(filter(None, [_answer(evidence, None), size]))


def sorted_by_decision(rows, column):
    """Sort the rows of a technique by what is decided on it, by whichever of the goals says most.

    Parameters
    ----------
    rows : list of dict
        Rows of `inference.decisions`.
    column : str
        `decision` or `decision_asked`.

    Returns
    -------
    dict of str to list of dict
        By decision a row of each technique; by `either` those of which one goal says `use` and another `avoid`, by
        `withheld` those that turn the bias round.
    """
    decided = {word: [] for word in (*codes.DECISIONS, "either", "withheld")}
    by_technique = {}
    for row in rows:
        withheld = row[column] == "no_evidence" and "bias_reversed" in codes_of(row)
        by_technique.setdefault(row["technique"], {}).setdefault("withheld" if withheld else row[column], row)
    for by_word in by_technique.values():
        ranked = ("avoid", "withheld", "use", "no_evidence", None, "equivalent")
        word = next(word for word in ranked if word in by_word)
        decided["either" if {"use", "avoid"} <= by_word.keys() else word].append(by_word[word])
    return decided


def _answer(evidence, goal):
    leading, noun = (goal,) if goal else evidence.leading, evidence.noun
    rows = evidence.of(*leading)
    label = evidence.domain or evidence.paradigm
    label = label if goal is None else f"{label}, by {goal}"
    n = len(evidence.llms)
    if not rows:
        return f"{label}: {_nothing_compared(evidence, leading)}."
    if all("too_few_llms" in (row["certainty"], *codes_of(row)) for row in rows):
        most = max(row["n_llms"] for row in rows)
        only = f"only {n} {noun}s were asked" if n > 1 else f"only one {noun} was asked"
        if most < n:
            only = f"only {most} of the {n} {noun}s asked can be compared"
        phrase = f"no evidence: {only} ({FIVE} are needed)"
        reach = f"for other {noun}s "
    else:
        phrase, reach = _phrase(evidence, rows, "decision"), f"for {noun}s like the {n} asked "
    if not evidence.llm:
        return f"{label}: {phrase}."
    own = evidence.of(*leading, own=True)
    if not evidence.is_asked:
        return f"{label}: {evidence.llm} was not asked; {reach}{phrase}."
    if not own:
        why = "it has no baseline" if evidence.llm in evidence.without_baseline else "its trials cannot be compared"
        return f"{label}: for {evidence.llm} itself there is no evidence, since {why}; {reach}{phrase}."
    return (
        f"{label}: for {evidence.llm}, by its own trials, {_phrase(evidence, own, 'decision_asked')}; {reach}{phrase}."
    )


def _nothing_compared(evidence, leading):
    """Say why there is no decision at all."""
    rows = [row for row in evidence.places if row["goal"] in leading and row["comparison"] == "control"]
    if evidence.biases and not rows:
        return "no technique was asked" if leading else f"{biases.DESCRIBED[0].lower()}{biases.DESCRIBED[1:]}"
    reasons = {code for row in rows or evidence.rankings for code in codes_of(row)} & set(codes.REASONS)
    return f"no evidence on any technique: {in_words('; '.join(sorted(reasons)) or 'nothing_to_rank')}"


def _phrase(evidence, rows, column, *, is_beside=False):
    """What a column of decisions comes to, in one sentence without its end; beside another, without what they do."""
    by = sorted_by_decision(rows, column)
    undecided = by["no_evidence"] + by[None]

    def does(word, effect):
        techniques = {row["technique"] for row in by[word]}
        same = [row for row in rows if row["technique"] in techniques and row[column] == word]
        effects = dict.fromkeys(getattr(evidence.words(row), effect) for row in same)
        return "" if is_beside or len(effects) > 1 else f" ({next(iter(effects))})"

    def named(word, name):
        for row in by[word]:
            told = [other[column] == word for other in rows if other["technique"] == row["technique"]]
            yield name(row) if all(told) else f"{name(row)} by {sum(told)} of the {len(told)} comparisons that lead"

    if not any(subset for word, subset in by.items() if word not in ("no_evidence", None)):
        return "no evidence for or against any technique"
    parts = []
    if by["use"]:
        used = listed(named("use", partial(_used, evidence)), "or")
        parts.append(f"use {used}{does('use', 'better')}")
    elif column == "decision" and len(by["equivalent"]) == sum(map(len, by.values())):
        parts.append("use a plain prompt")
    if by["avoid"]:
        parts.append(f"avoid {listed(named('avoid', itemgetter('name')))}{does('avoid', 'worse')}")
    if by["either"]:
        parts.append(f"{_names(by['either'])} {codes.EITHER}")
    if by["withheld"]:
        parts.append(
            f"{_names(by['withheld'])} {'turn' if by['withheld'][1:] else 'turns'} the bias round, and "
            f"{'are' if by['withheld'][1:] else 'is'} not recommended"
        )
    if by["equivalent"]:
        makes = "make" if len(by["equivalent"]) > 1 else "makes"
        average = "on average, unless rare LLMs differ, " if column == "decision" else ""
        first = by["equivalent"][0]
        margin = f"within {evidence.words(first).amount(first['margin'], 'g')}"
        parts.append(f"{average}{_names(by['equivalent'])} {makes} no difference ({margin})")
    if undecided:
        parts.append(f"no evidence on {_names(undecided)}")
    return "; ".join(parts)


def _used(evidence, row):
    """Name a technique to use, with what it is held against where that is no plain prompt."""
    if row["control"] == codes.CONTROL:
        return row["name"]
    plain = _plain(evidence, row)
    is_more = plain and plain["loss_control"] < row["loss"]
    less = f"; a plain prompt has less, {evidence.words(row).number(plain['loss_control'])}" if is_more else ""
    return f"{row['name']} (against {_control(row)}{less})"


def _plain(evidence, row):
    """Return the row that holds a technique with a control of its own against a plain prompt."""
    rows = evidence.of(row["goal"], comparison="confounded")
    return next((other for other in rows if other["technique"] == row["technique"]), None)


def _asked(evidence, leading):
    """Say what holds for those asked and no others, never without the decision before it."""
    rows = evidence.of(*leading)
    if not rows or (evidence.llm and evidence.is_asked):
        return
    n, noun = len(evidence.llms), evidence.noun
    those = f"{n} {noun}s asked, and no others, on average" if n > 1 else f"one {noun} asked, and no other"
    is_said = any(row["decision"] in ("use", "avoid") for row in rows)
    yield f"For the {those}: {_phrase(evidence, rows, 'decision_asked', is_beside=is_said)}."


def _sizes(evidence, leading):
    """How large the loss is without a technique, of a paradigm of one's own."""
    if evidence.biases:
        yield from biases.sentences(evidence.biases, evidence.mirrors, evidence.corrected, evidence.noun)
    plain = [row for row in evidence.places if row["technique"] == codes.CONTROL and row["goal"] in leading]
    for row in plain if evidence.base else ():
        if row["loss"] is not None:
            yield (
                f"With a plain prompt, {row['goal']} is {row['loss']:.1f} % of the mean answer in {evidence.base} "
                f"({evidence.words(row).measures})."
            )


def _goals(evidence, leading):
    """What the other goals say."""
    rows, kind = {goal: rows for goal in evidence.goals if (rows := evidence.of(goal))}, _kind(evidence)
    others = [goal for goal in rows if goal not in leading]
    if not rows.keys() & set(leading) or not others:
        return None
    if all(row["certainty"] == "too_few_llms" for of_goal in rows.values() for row in of_goal):
        return None
    used = [{row["technique"] for row in of_goal if row["decision"] == "use"} for of_goal in rows.values()]
    agree = all(names == used[0] for names in used)
    phrases = [
        f"By {goal} ({evidence.goals[goal].measures}): {_phrase(evidence, rows[goal], 'decision', is_beside=True)}"
        for goal in others
    ]
    agreement = (
        f"The {kind}s {'agree' if agree else 'disagree'} on what to use"
        if any(used)
        else f"No {kind} says to use any technique"
    )
    return f"{agreement}. {'. '.join(phrases)}."


def _opposites(evidence, leading):
    """Name the techniques that one goal is for and another against."""
    is_own = bool(evidence.of(*leading, own=True))
    like = f"For {evidence.noun}s like those asked"
    columns = {"decision": like, "decision_asked": f"In the {evidence.noun}s asked"}
    for column, whom in ({"decision_asked": f"In {evidence.llm}"} if is_own else columns).items():
        by_name = {}
        for row in evidence.of(*dict.fromkeys((*leading, *evidence.goals)), own=is_own):
            by_name.setdefault(row["name"], {}).setdefault(row[column], []).append(row["goal"])
        both = [(name, by) for name, by in by_name.items() if {"use", "avoid"} <= by.keys()]
        if both:
            each = (f"{name} helps by {listed(by['use'])} and harms by {listed(by['avoid'])}" for name, by in both)
            yield f"{whom} the {_kind(evidence)}s are opposed: {'; '.join(each)}."


def _reversals(evidence, leading):
    """Say of each technique that turns the bias round in whom, and what it gains although it does."""
    own = evidence.of(*leading, own=True)
    kind = "_asked" if own else ""
    for row in own or evidence.of(*leading):
        if "bias_reversed" not in codes_of(row):
            continue
        n, those = row["n_reversed"], f"{row['n_llms']} {evidence.noun}s"
        where = f"in {n} of {those}" if n else f"in some of the {those} or in their mean"
        whom = f" of {evidence.llm} round" if own else f" round {where}"
        does = f"turns the bias{whom}"
        if (row[f"gain{kind}_low"] or 0) > 0:
            does = f"brings the bias nearer to none by {_gain(evidence, row, kind)}, but {does}"
        withheld = ": neither “use” nor “no difference” is said of it" if row[f"decision{kind}"] != "avoid" else ""
        yield f"{evidence.named(row)} {does}, so that it points the other way{withheld}."


def _counts(evidence, leading):
    """How many LLMs gained and what the interval is, of each technique that is decided on."""
    for row in evidence.of(*leading):
        words = evidence.words(row)
        gained = f"{row['n_gained']} of {row['n_llms']} {evidence.noun}s gained"
        if row["decision"] in ("use", "avoid"):
            of_whom = "" if row["control"] == codes.CONTROL else f" of {_control(row)}"
            if plain := of_whom and _plain(evidence, row):
                of_whom += f" ({words.number(plain['loss_control'])} with a plain prompt, whose wording is another)"
            yield (
                f"{row['name']}: {gained}; {row['goal']} is {words.amount(row['loss'])} instead of "
                f"{words.number(row['loss_control'])}{of_whom}, gain {_gain(evidence, row)}. "
                f"{_capital(codes.CERTAINTY[row['certainty']].replace('LLM', evidence.noun))}."
            )
        elif row["decision"] == "equivalent":
            yield (
                f"{evidence.named(row)}: {gained}; {row['n_beyond_margin']} of them lie beyond "
                f"{words.amount(row['margin'], 'g')} on either side, and up to {row['beyond_margin_high']:.0%} of "
                f"{evidence.noun}s like them could."
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
    is_own = bool(evidence.own)
    high = "gain_asked_high" if is_own else "gain_high"
    rows = [row for row in evidence.of(*goals, own=is_own) if (row[high] or 0) > (row["loss_control"] or 0)]
    phrases = []
    for goal, of_goal in groupby(rows, key=lambda row: row["goal"]):
        words = evidence.goals[goal]
        ends = [
            f"{row['name']} (up to {words.number(row[high])} of {words.amount(row['loss_control'])})" for row in of_goal
        ]
        phrases.append(f"by {goal} {listed(ends)}")
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
        sentence = f"{row['name']} is held against {_control(row)}, since its prompt differs from that of the others."
        if comparison := _plain(evidence, row):
            sentence += (
                f" Held against a plain prompt it gains {_gain(evidence, comparison)}: a "
                "confounded comparison, on which nothing is decided."
            )
            if has_rivals(evidence.of(*leading)):
                sentence += " Its P(best) is against a plain prompt, as that of the others."
        yield sentence


def _placebos(evidence, leading):
    used = [row["technique"] for row in evidence.of(*leading) if row["decision"] == "use"]
    for row in evidence.of(*leading, comparison="placebo"):
        if row["technique"] in used and row["gain"] is not None:
            names = {"name": row["name"], "placebo": row["control_name"]}
            yield PLACEBO[row["decision"]].format(**names, gain=_gain(evidence, row))


def _predictions(evidence, leading):
    """Say which technique an LLM would gain most by."""
    for goal in leading:
        rows = [row for row in evidence.predictions if row["goal"] == goal]
        predictions = [row for row in rows if row["gain"] is not None]
        if predictions:
            yield _prediction(evidence, goal, predictions)
        elif rows:
            few = any("too_few_llms" in codes_of(row) for row in rows)
            why = f"that takes {FIVE} LLMs" if few else in_words(rows[0]["reason"])
            yield f"What an LLM that nobody asked would gain cannot be predicted: {why}."
            return


def _prediction(evidence, goal, predictions):
    words = evidence.goals[goal]
    best = max(predictions, key=lambda row: (row["p_best_new_llm"] or 0, row["technique"]))
    whom = f"For {evidence.llm or f'one more {evidence.noun} like these'}"
    drawn = f"{whom}, its own trials drawn towards the other LLMs" if best["llm"] else whom
    is_best = f"the likeliest to be best (probability {probability(best['p_best_new_llm'])}), and "
    low, high = (words.number(best[end]) for end in ("gain_low", "gain_high"))
    return (
        f"{drawn}: {best['name']} is {is_best if has_rivals(predictions) else ''}better than its control with "
        f"probability {probability(best['p_better_than_control'])}; expected "
        f"{goal} {words.amount(best['expected_loss'])}, expected gain {words.amount(best['gain'])} (95 % prediction "
        f"interval {low} to {high})."
    )


def _scope(evidence, leading):
    rows, noun, n = evidence.of(*leading), evidence.noun, len(evidence.llms)
    if not rows or not n:
        return None
    those = f"the {n} {noun}s asked: {listed(evidence.llms)}" if n > 1 else f"the one {noun} asked: {evidence.llms[0]}"
    if all(row["certainty"] == "too_few_llms" for row in rows):
        text = f"Do not generalise beyond {those}."
    else:
        text = f"Decisions are for {noun}s like {those}."
        if any(row["decision"] not in ("no_evidence", None) for row in rows):
            text += " They assume that no rare LLM is far off."
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
        if sentence := in_ways_of_counting(evidence.named(row), row["decision"], counted_ways):
            yield sentence


def _caveats(evidence, leading):
    rows = evidence.of(*leading) + evidence.of(*leading, own=True)
    rows = [row for row in rows if {row["decision"], row["decision_asked"]} & {"use", "avoid", "equivalent"} or
            set(codes_of(row)) & set(codes.BARRING)]  # fmt: skip
    for code, text in {**codes.CAVEATS, "contradicted_elsewhere": codes.CONTRADICTED}.items():
        named = (evidence.named(row) for row in rows if code in (row["certainty"], *codes_of(row)))
        if names := dict.fromkeys(named):
            yield text.format(names=listed(names))


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


def _next_step(evidence, leading):
    """Say how many more LLMs or trials would settle what is open, and which command writes the study that asks them."""
    rows = (row for row in evidence.places if row["goal"] in leading)
    names = {(row["technique"], row["control"], row["goal"]): evidence.named(row) for row in rows}

    def compared(row):
        return row["technique_a"], row["technique_b"], row["goal"]

    sentence = settling(
        [row for row in evidence.next_steps if compared(row) in names],
        lambda row: names[compared(row)],
        evidence.noun,
        is_cost_known_elsewhere="USD" in (evidence.study_file or ""),
    )
    if sentence and evidence.own:
        sentence = f"For the others, {sentence[0].lower()}{sentence[1:]}"
    return sentence and " ".join(filter(None, [sentence, evidence.study_file]))


def _gain(evidence, row, kind=""):
    """A gain with its bounds, where there are any."""
    words, low, high = evidence.words(row), row[f"gain{kind}_low"], row[f"gain{kind}_high"]
    bounds = "" if low is None else f" ({words.number(low)} to {words.number(high)})"
    return f"{words.amount(row['gain'])}{bounds}"


def _control(row):
    return "its own first answers" if row["control"] == f"{row['technique']}_initial" else row["control_name"]


def _kind(evidence):
    return "measure" if evidence.biases else "goal"


def _names(rows):
    return listed(row["name"] for row in rows)


def _capital(text):
    return f"{text[0].upper()}{text[1:]}"
