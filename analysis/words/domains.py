"""What the evidence on one domain says to somebody who has to choose a technique: sentences, from rows alone."""

import re
from dataclasses import dataclass, field
from shlex import quote

from analysis.words import codes
from analysis.words.changes import counted, sentences
from analysis.words.codes import codes_of, has_rivals, in_ways_of_counting, in_words, listed, probability
from analysis.words.settling import settling

SIMULATED_FIRST = "SIMULATED respondents, no LLM was asked: "
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
    """What the warehouse holds on one domain of one study, over LLMs and for one of them.

    Attributes
    ----------
    domain : str
    paradigm : str
    llm : str or None
        The LLM that is asked about, if it is one.
    is_asked : bool
        Whether that LLM has trials here.
    is_simulated : bool
        Whether simulated respondents are among those asked.
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
        What each goal measures, the leading one first.
    base : str or None
        The arm that losses are in per cent of; of anchoring it has no name.
    """

    domain: str
    paradigm: str = "anchoring"
    llm: str | None = None
    is_asked: bool = True
    is_simulated: bool = False
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
        """The goal that is told first."""
        return next(iter(self.goals))

    def of(self, goal, comparison="control", *, own=False):
        """Rows of a goal that compare some LLM, the smallest loss first; by default those that decide."""
        rows = [row for row in (self.own if own else self.places) if row["goal"] == goal]
        rows = [row for row in rows if row["comparison"] == comparison and row["loss"] is not None]
        rows = [row for row in rows if row["n_llms"] != 0]
        return sorted(rows, key=lambda row: (row["loss"], row["technique"]))


def advise(evidence, goal=None):
    """Say what to use, what not, how sure that is, and how far it reaches.

    Parameters
    ----------
    evidence : Evidence
    goal : str, optional
        One of `evidence.goals`, the leading one unless said. The others are set beside it: they can say the opposite,
        and no rule merges them.

    Returns
    -------
    list of dict
        `about` and `text` of each sentence, `answer` first.
    """
    leading = goal or evidence.leading
    answer, *beside = verdict(evidence, goal)
    simulated = SIMULATED_FIRST if evidence.is_simulated else ""
    statements = [
        ("answer", f"{simulated}{answer}"),
        ("size", _size(evidence, leading)),
        *(("beside", text) for text in beside),
        ("goals", _goals(evidence, leading)),
        *(("evidence", text) for text in _counts(evidence, leading)),
        *(("post_hoc", text) for text in _changes(evidence)),
        ("bounds", _above_the_loss(evidence, (goal,) if goal else evidence.goals)),
        *(("incomparable", text) for text in _incomparable(evidence, leading)),
        *(("control", text) for text in _own_controls(evidence, leading)),
        *(("placebo", text) for text in _placebos(evidence, leading)),
        ("prediction", _prediction(evidence, leading)),
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
    rows = [row for row in evidence.places if row["comparison"] == "control" and row["goal"] == goals[0]]
    measured = "; ".join(f"{goal}: {evidence.goals[goal].measures}" for goal in goals)
    base = f"answer in {evidence.base} without a technique" if evidence.base else "unanchored answer"
    items = "items and " if evidence.base else ""
    yield f"Losses are in percent of the {base}, means over {items}vignettes, then LLMs. {measured}."
    if any(row["n_comparisons"] for row in rows):
        first = max(rows, key=lambda row: row["n_comparisons"] or 0)
        whose = f"its interval is of {evidence.llm}'s own trials and" if evidence.own else "its 95 % interval"
        n = first["n_comparisons"]
        holds = f"holds for all {n} techniques at once" if n > 1 else "is for the one technique asked"
        best = (
            "P(best): of the smallest loss, on average over LLMs (where one more LLM is foretold, in that LLM); for a "
            "plain prompt, that no technique gains. "
        ) * has_rivals(evidence.of(goals[0]))
        yield (
            "gain: loss of the control less that of the technique, without what noise adds to either; "
            f"{whose} {holds}; no difference: within {first['margin']:g} "
            f"{evidence.goals[goals[0]].unit}. {best}P(worse): of losing on its control, on average. "
            "Probabilities are from one model of all techniques, in which LLMs differ alike on each. Trials compared: "
            "its own and its control's. A name after vs is what a technique is held against "
            "instead of a plain prompt."
        )
    decides = any(row["certainty"] != "too_few_llms" for row in rows)
    if decides and len(goals) > 1:
        yield (
            f"Chance of any false use or avoid, if no rare LLM is far off: up to 5 % by {goals[0]}, which decides; up "
            f"to {5 * len(goals)} % over all goals."
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
    leading = goal or evidence.leading
    return [_answer(evidence, goal), *_asked(evidence, leading), *_opposites(evidence, leading)]


def _answer(evidence, goal):
    leading, noun = goal or evidence.leading, _noun(evidence)
    rows = evidence.of(leading)
    label = evidence.domain if goal is None else f"{evidence.domain}, by {goal}"
    n = len(evidence.llms)
    if not rows:
        compared_rows = [row for row in evidence.places if row["goal"] == leading and row["comparison"] == "control"]
        reasons = {code for row in compared_rows or evidence.rankings for code in codes_of(row)} & set(codes.REASONS)
        return f"{label}: no evidence on any technique: {in_words('; '.join(sorted(reasons)) or 'nothing_to_rank')}."
    if all("too_few_llms" in (row["certainty"], *codes_of(row)) for row in rows):
        most = max(row["n_llms"] for row in rows)
        only = f"only {n} {noun}s were asked" if n > 1 else f"only one {noun} was asked"
        if most < n:
            only = f"only {most} of the {n} {noun}s asked can be compared"
        phrase = f"no evidence: {only} ({FIVE} are needed)"
        reach = f"for other {noun}s "
    else:
        phrase, reach = _phrase(evidence, rows, "decision", leading), f"for {noun}s like the {n} asked "
    if not evidence.llm:
        return f"{label}: {phrase}."
    own = evidence.of(leading, own=True)
    if not evidence.is_asked:
        return f"{label}: {evidence.llm} was not asked; {reach}{phrase}."
    if not own:
        why = "it has no baseline" if evidence.llm in evidence.without_baseline else "its trials cannot be compared"
        return f"{label}: for {evidence.llm} itself there is no evidence, since {why}; {reach}{phrase}."
    its_own = _phrase(evidence, own, "decision_asked", leading)
    return f"{label}: for {evidence.llm}, by its own trials, {its_own}; {reach}{phrase}."


def _phrase(evidence, rows, column, goal, *, is_beside=False):
    """What a column of decisions comes to, in one sentence without its end; beside another, without what they do."""
    words = evidence.goals[goal]
    better, worse = ("", "") if is_beside else (f" ({words.better})", f" ({words.worse})")
    by = {decision: [row for row in rows if row[column] == decision] for decision in codes.DECISIONS}
    undecided = by["no_evidence"] + by[None]
    if len(undecided) == len(rows):
        return "no evidence for or against any technique"
    parts = []
    if by["use"]:
        parts.append(f"use {listed((_used(evidence, row) for row in by['use']), 'or')}{better}")
    elif not by["avoid"] and not undecided and column == "decision":
        parts.append("use a plain prompt")
    if by["avoid"]:
        parts.append(f"avoid {_names(by['avoid'])}{worse}")
    if by["equivalent"]:
        makes = "make" if len(by["equivalent"]) > 1 else "makes"
        average = "on average, unless rare LLMs differ, " if column == "decision" else ""
        margin = f"within {by['equivalent'][0]['margin']:g} {words.unit}"
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
    less = f"; a plain prompt has less, {plain['loss_control']:.1f}" if is_more else ""
    return f"{row['name']} (against {_control(row)}{less})"


def _plain(evidence, row):
    """Return the row that holds a technique with a control of its own against a plain prompt."""
    rows = evidence.of(row["goal"], "confounded")
    return next((other for other in rows if other["technique"] == row["technique"]), None)


def _asked(evidence, leading):
    """Say what holds for those asked and no others, never without the decision before it."""
    rows = evidence.of(leading)
    if not rows or (evidence.llm and evidence.is_asked):
        return
    n, noun = len(evidence.llms), _noun(evidence)
    those = f"{n} {noun}s asked, and no others, on average" if n > 1 else f"one {noun} asked, and no other"
    is_said = any(row["decision"] in ("use", "avoid") for row in rows)
    yield f"For the {those}: {_phrase(evidence, rows, 'decision_asked', leading, is_beside=is_said)}."


def _size(evidence, leading):
    """How large the loss is without a technique, of a paradigm of one's own."""
    plain = [row for row in evidence.places if (row["technique"], row["goal"]) == (codes.CONTROL, leading)]
    if evidence.base is None or not plain or plain[0]["loss"] is None:
        return None
    words = evidence.goals[leading]
    return (
        f"With a plain prompt, {leading} is {plain[0]['loss']:.1f} % of the mean answer in {evidence.base} "
        f"({words.measures})."
    )


def _goals(evidence, leading):
    """What the other goals say."""
    by_goal = {goal: rows for goal in evidence.goals if (rows := evidence.of(goal))}
    others = [goal for goal in by_goal if goal != leading]
    if leading not in by_goal or not others:
        return None
    if all(row["certainty"] == "too_few_llms" for rows in by_goal.values() for row in rows):
        return None
    used = [{row["technique"] for row in rows if row["decision"] == "use"} for rows in by_goal.values()]
    agree = all(names == used[0] for names in used)
    phrases = [
        f"By {goal} ({evidence.goals[goal].measures}): "
        + _phrase(evidence, by_goal[goal], "decision", goal, is_beside=True)
        for goal in others
    ]
    agreement = (
        f"The goals {'agree' if agree else 'disagree'} on what to use"
        if any(used)
        else "No goal says to use any technique"
    )
    return f"{agreement}. {'. '.join(phrases)}."


def _opposites(evidence, leading):
    """Name the techniques that one goal is for and another against."""
    is_own = bool(evidence.of(leading, own=True))
    like = f"For {_noun(evidence)}s like those asked"
    columns = {"decision": like, "decision_asked": f"In the {_noun(evidence)}s asked"}
    for column, whom in ({"decision_asked": f"In {evidence.llm}"} if is_own else columns).items():
        by_name = {}
        for goal in (leading, *(goal for goal in evidence.goals if goal != leading)):
            for row in evidence.of(goal, own=is_own):
                by_name.setdefault(row["name"], {}).setdefault(row[column], []).append(goal)
        both = [(name, by) for name, by in by_name.items() if {"use", "avoid"} <= by.keys()]
        if both:
            each = (f"{name} helps by {listed(by['use'])} and harms by {listed(by['avoid'])}" for name, by in both)
            yield f"{whom} the goals are opposed: {'; '.join(each)}."


def _counts(evidence, leading):
    """How many LLMs gained and what the interval is, of each technique that is decided on."""
    unit = evidence.goals[leading].unit
    for row in evidence.of(leading):
        gained = f"{row['n_gained']} of {row['n_llms']} {_noun(evidence)}s gained"
        if row["decision"] in ("use", "avoid"):
            of_whom = "" if row["control"] == codes.CONTROL else f" of {_control(row)}"
            if plain := of_whom and _plain(evidence, row):
                of_whom += f" ({plain['loss_control']:.1f} with a plain prompt, whose wording is another)"
            yield (
                f"{row['name']}: {gained}; {leading} is {row['loss']:.1f} {unit} instead of {row['loss_control']:.1f}"
                f"{of_whom}, gain {_gain(row, unit)}. "
                f"{_capital(codes.CERTAINTY[row['certainty']])}."
            )
        elif row["decision"] == "equivalent":
            yield (
                f"{row['name']}: {gained}; {row['n_beyond_margin']} of them lie beyond {row['margin']:g} {unit} on "
                f"either side, and up to {row['beyond_margin_high']:.0%} of {_noun(evidence)}s like them could."
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
    phrases = []
    for goal in goals:
        rows = [row for row in evidence.of(goal, own=is_own) if (row[high] or 0) > (row["loss_control"] or 0)]
        ends = [
            f"{row['name']} (up to {row[high]:.1f} of {row['loss_control']:.1f} {evidence.goals[goal].unit})"
            for row in rows
        ]
        phrases += [f"by {goal} {listed(ends)}"] if ends else []
    if not phrases:
        return None
    return f"{codes.ABOVE_THE_LOSS}: {'; '.join(phrases)}."


def _incomparable(evidence, leading):
    """Name the techniques of which nothing can be said, and why."""
    rows = [row for row in evidence.places if row["goal"] == leading and row["comparison"] == "control"]
    if evidence.of(leading):
        yield from (
            f"Nothing can be said of {row['name']}: {in_words(row['reason'])}." for row in rows if row["gain"] is None
        )


def _own_controls(evidence, leading):
    for row in evidence.of(leading):
        if row["control"] == codes.CONTROL:
            continue
        sentence = f"{row['name']} is held against {_control(row)}, since its prompt differs from that of the others."
        beside = [other for other in evidence.of(leading, "confounded") if other["technique"] == row["technique"]]
        for comparison in beside:
            sentence += (
                f" Held against a plain prompt it gains {_gain(comparison, evidence.goals[leading].unit)}: a "
                "confounded comparison, on which nothing is decided."
            )
            if has_rivals(evidence.of(leading)):
                sentence += " Its P(best) is against a plain prompt, as that of the others."
        yield sentence


def _placebos(evidence, leading):
    used = [row["technique"] for row in evidence.of(leading) if row["decision"] == "use"]
    for row in evidence.of(leading, "placebo"):
        if row["technique"] in used and row["gain"] is not None:
            gain = _gain(row, evidence.goals[leading].unit)
            yield PLACEBO[row["decision"]].format(name=row["name"], placebo=row["control_name"], gain=gain)


def _prediction(evidence, leading):
    rows = [row for row in evidence.predictions if row["goal"] == leading]
    predictions = [row for row in rows if row["gain"] is not None]
    if not predictions:
        if not rows:
            return None
        few = any("too_few_llms" in codes_of(row) for row in rows)
        why = f"that takes {FIVE} LLMs" if few else in_words(rows[0]["reason"])
        return f"What an LLM that nobody asked would gain cannot be predicted: {why}."
    best = max(predictions, key=lambda row: (row["p_best_new_llm"] or 0, row["technique"]))
    unit = evidence.goals[leading].unit
    whom = f"For {evidence.llm or 'one more LLM like these'}"
    drawn = f"{whom}, its own trials drawn towards the other LLMs" if best["llm"] else whom
    is_best = f"the likeliest to be best (probability {probability(best['p_best_new_llm'])}), and "
    return (
        f"{drawn}: {best['name']} is {is_best if has_rivals(predictions) else ''}better than its control with "
        f"probability {probability(best['p_better_than_control'])}; expected "
        f"{leading} {best['expected_loss']:.1f} {unit}, expected gain {best['gain']:.1f} {unit} (95 % prediction "
        f"interval {best['gain_low']:.1f} to {best['gain_high']:.1f})."
    )


def _scope(evidence, leading):
    rows, noun, n = evidence.of(leading), _noun(evidence), len(evidence.llms)
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
    if len(evidence.vignettes) == 1:
        text += f" All of it is of one vignette, {evidence.vignettes[0]}: other cases of the domain may differ."
    elif evidence.vignettes:
        text += f" All of it is of the vignettes {listed(evidence.vignettes)}: other cases of the domain may differ."
    if evidence.llm and not evidence.is_asked and not evidence.unaskable:
        of_paradigm = f" --paradigm {evidence.paradigm}" if evidence.base else ""
        text += (
            f" To ask {evidence.llm}: `bais plan --to-settle {evidence.domain}{of_paradigm} --llm "
            f"{quote(evidence.llm)}` writes the study, and `bais collect` asks it."
        )
    return text


def _ways_of_counting(evidence, leading):
    """In how many ways of counting a decision is the same, and in which it is another."""
    ways = {(row["technique"], row["control"]): row for row in evidence.sensitivity if row["goal"] == leading}
    for row in evidence.of(leading):
        if sentence := in_ways_of_counting(row["name"], row["decision"], ways.get((row["technique"], row["control"]))):
            yield sentence


def _caveats(evidence, leading):
    rows = evidence.of(leading) + evidence.of(leading, own=True)
    rows = [row for row in rows if {row["decision"], row["decision_asked"]} & {"use", "avoid", "equivalent"} or
            "reading_would_change" in codes_of(row)]  # fmt: skip
    for code, text in {**codes.CAVEATS, "contradicted_elsewhere": codes.CONTRADICTED}.items():
        if names := dict.fromkeys(row["name"] for row in rows if code in (row["certainty"], *codes_of(row))):
            yield text.format(names=listed(names))


def _cheapest(evidence, leading):
    """Say which of the techniques to use costs least, where that is not the first of them."""
    used = [row for row in evidence.of(leading) if row["decision"] == "use"]
    costs = {row["name"]: evidence.costs.get(row["technique"], {}).get("cost_usd_per_1000") for row in used}
    if len(used) < 2 or None in costs.values():
        return None
    first, least = used[0]["name"], min(costs, key=costs.get)
    if costs[least] >= costs[first]:
        return None
    return f"{least} costs least of these ({costs[least]:,.2f} instead of {costs[first]:,.2f} USD per 1,000 decisions)."


def _next_step(evidence, leading):
    """Say how many more LLMs or trials would settle what is open, and which command writes the study that asks them."""
    names = {(row["technique"], row["control"]): row["name"] for row in evidence.places}
    sentence = settling(
        [row for row in evidence.next_steps if row["goal"] == leading],
        lambda row: names.get((row["technique_a"], row["technique_b"]), row["technique_a"]),
        _noun(evidence),
        is_cost_known_elsewhere="USD" in (evidence.study_file or ""),
    )
    if sentence and evidence.own:
        sentence = f"For the others, {sentence[0].lower()}{sentence[1:]}"
    return sentence and " ".join(filter(None, [sentence, evidence.study_file]))


def _gain(row, unit):
    """A gain with its bounds, where there are any."""
    if row["gain_low"] is None:
        return f"{row['gain']:.1f} {unit}"
    return f"{row['gain']:.1f} {unit} ({row['gain_low']:.1f} to {row['gain_high']:.1f})"


def _control(row):
    return "its own first answers" if row["control"] == f"{row['technique']}_initial" else row["control_name"]


def _names(rows):
    return listed(row["name"] for row in rows)


def _noun(evidence):
    return "respondent" if evidence.is_simulated else "LLM"


def _capital(text):
    return f"{text[0].upper()}{text[1:]}"
