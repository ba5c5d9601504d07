"""What the evidence on one domain says to somebody who has to choose a technique: sentences, from rows alone."""

from dataclasses import dataclass, field
from typing import NamedTuple

CONTROL = "no_technique"
PREDICATES = {"deviation": "closer_than_no_technique", "susceptibility": "reduces_susceptibility"}


class Metric(NamedTuple):
    """How a metric is put into words; `{judgment}` is whose unanchored judgment the baseline is.

    What is better or worse is so `than doing nothing`.
    """

    best: str
    better: str
    worse: str
    unit: str


SPREAD = "spread between high and low anchors"
METRICS = {
    "deviation": Metric("closest to {judgment}", "closer to {judgment}", "farther from {judgment}", "pp"),
    "susceptibility": Metric(f"smallest {SPREAD}", f"smaller {SPREAD}", f"larger {SPREAD}", "pp"),
    "madb": Metric(
        "single answers closest to {judgment}",
        "single answers closer to {judgment}",
        "single answers farther from {judgment}",
        "%",
    ),
}
OTHER = {"deviation": "susceptibility", "susceptibility": "deviation", "madb": "deviation"}


class Goal(NamedTuple):
    """A goal in words: its unit, what its loss measures, and what a better and a worse technique do to answers."""

    unit: str
    measures: str
    better: str
    worse: str


GOALS = {
    "displacement": Goal(
        "pp",
        "how far an anchor moves the average answer",
        "an anchor moves the average answer less",
        "an anchor moves the average answer more",
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
DECISIONS = {
    "use": "use",
    "avoid": "avoid",
    "equivalent": "no difference",
    "no_evidence": "no evidence",
    None: "none",
}
CERTAINTY = {
    "too_few_llms": "fewer than five LLMs were asked, too few to speak of others",
    "contradicted_elsewhere": "another domain of the study says the opposite",
    "established": "established for LLMs like those asked",
    "promising": "seen in the LLMs asked, not established for others like them",
    "no_evidence": "the data cannot separate help from harm",
}
REASONS = {
    "too_few_llms": "fewer than five LLMs were asked",
    "one_llm": "the trials of one LLM say little about another",
    "zero_variance": "all its answers are the same, so that chance cannot be told from effect",
    "no_variance_to_correct": "some answers never vary, so that their noise could not be taken off the loss",
    "missing_direction": "low or high anchors were not asked",
    "no_baseline": "there is no baseline, since no unanchored trial was answered",
    "baseline_below_10": "LLMs with fewer than 10 unanchored answers are left out",
    "baseline_below_30": "some LLMs have fewer than 30 unanchored answers",
    "attrition_could_reverse": "missing answers could reverse the decision",
    "reading_would_change": "reading the recorded texts in the other way would change the decision",
    "confounded_prompt": "the two were asked with different prompts",
    "control_not_asked": "its control was not asked of the same LLMs",
    "not_asked_with_it": "this LLM was not asked with it, so that its other results foretell this one",
    "llms_differ": "not every technique was asked of the same LLMs",
    "not_ranked_with_the_others": "too few LLMs were asked with it",
    "no_technique_not_asked": "it was not asked without a technique",
    "no_low_or_no_high_anchor": "low or high anchors were not asked",
    "nothing_to_rank": "no ranked technique has an answer to an anchored question",
    "calls_not_recorded": "the calls were not recorded",
    "price_not_known": "no price is known of an LLM",
    "not_of_every_llm": "not every LLM's calls were recorded",
}


@dataclass(frozen=True)
class Evidence:
    """What the warehouse holds on one domain of one study, over LLMs or for one of them.

    Attributes
    ----------
    domain : str
    llm : str or None
        None over all LLMs.
    is_simulated : bool
        Whether simulated respondents are among those asked.
    places : list of dict
        Rows of `inference.rank_probabilities` of LLM weighting, each with the `name` of its technique.
    llms : list of str
        Who was asked, with a baseline.
    without_baseline : list of str
        Who was asked, without one.
    rankings, bounds : list of dict
        Rows of `marts.technique_rankings` and `marts.attrition_bounds`.
    equivalences : list of dict
        Rows of `inference.equivalence_tests` that speak of as many LLMs as the places do.
    contested : list of dict
        `llm`, `n_contested`, `n_trials`: unanchored trials whose recorded number is not the one that the text states.
    costs : dict of str to dict
        By technique: `cost_usd_per_1000` and `reason`.
    specifications : list of dict
        Rows of `inference.sensitivity` of the recommended specification, and of it with the numbers as read anew.
    """

    domain: str
    llm: str | None = None
    is_simulated: bool = False
    places: list = field(default_factory=list)
    llms: list = field(default_factory=list)
    without_baseline: list = field(default_factory=list)
    rankings: list = field(default_factory=list)
    bounds: list = field(default_factory=list)
    equivalences: list = field(default_factory=list)
    contested: list = field(default_factory=list)
    costs: dict = field(default_factory=dict)
    specifications: list = field(default_factory=list)


def advise(evidence, metric=None):
    """Say what to use, what not, and how far that reaches.

    Parameters
    ----------
    evidence : Evidence
    metric : str, optional
        One of `METRICS`. Without one the deviation from the LLMs' own unanchored judgment answers, and susceptibility
        is set beside it: the two can recommend opposite techniques, and no rule merges them.

    Returns
    -------
    list of dict
        `about` and `text` of each sentence, `answer` first.
    """
    leading = metric or "deviation"
    other = OTHER[leading]
    decided, beside = _decided(evidence, leading), _decided(evidence, other)
    label = evidence.domain if metric is None else f"{evidence.domain}, by {metric}"
    simulated = "SIMULATED respondents, no LLM was asked: " if evidence.is_simulated else ""
    is_alone = metric is not None or not beside or not beside["use"]
    found = [("answer", f"{simulated}{label}: {_answer(evidence, decided, leading, is_alone)}.")]
    if decided and beside:
        found.append(("metrics", _comparison(evidence, decided, beside, other)))
        found += [("conflict", text) for text in _conflicts(evidence, decided, beside, leading, other)]
    found.append(("no_spread", _no_spread(evidence)))
    if decided:
        found.append(("scope", _scope(evidence, decided)))
    found += [
        ("attrition", _attrition(evidence, leading)),
        ("baselines", _contested(evidence)),
        ("cost", _cheaper(evidence, decided, leading)),
        ("sensitivity", _sensitivity(evidence, decided, leading)),
    ]
    return [{"about": about, "text": text} for about, text in found if text]


def listed(words):
    """Join words as a sentence does.

    Parameters
    ----------
    words : iterable of str

    Returns
    -------
    str
    """
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def in_words(reason):
    """Say why something is null.

    Parameters
    ----------
    reason : str or None
        Codes separated by semicolons.

    Returns
    -------
    str
        What is known of these codes, in words; an unknown one as it is.
    """
    codes = [code for code in (reason or "").split("; ") if code and code not in ("one_llm", "too_few_llms", "control")]
    return "; ".join(REASONS.get(code, code) for code in codes) or "no reason is given"


def probability(p):
    """Write a probability from resamples, which is never certain.

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


def _decided(evidence, metric):
    """Techniques of one metric by decision, the smallest loss first; without any row nothing."""
    rows = [row for row in evidence.places if row["metric"] == metric and row["technique"] != CONTROL]
    rows = sorted((row for row in rows if row["loss"] is not None), key=lambda row: (row["loss"], row["technique"]))
    return {
        decision: [row for row in rows if row["decision"] == decision]
        for decision in ("use", "avoid", "equivalent", "no_evidence", None)
        if rows
    }


def _all(decided):
    return [row for rows in decided.values() for row in rows]


def _names(rows):
    return listed(row["name"] for row in rows)


def _names_are(rows):
    return f"{_names(rows)} {'are' if len(rows) > 1 else 'is'}"


def _names_of(evidence):
    return {row["technique"]: row["name"] for row in evidence.places}


def _first(rows, **values):
    """Return the first of the rows that has these values, or None."""
    return next((row for row in rows if values.items() <= row.items()), None)


def _undecided(decided):
    return decided["no_evidence"] + decided[None]


def _words(evidence, metric):
    noun = "respondent" if evidence.is_simulated else "LLM"
    owner = f"{noun}'s" if evidence.llm else f"{noun}s'"
    judgment = f"the {owner} own unanchored judgment"
    best, better, worse, unit = (text.format(judgment=judgment) for text in METRICS[metric])
    return Metric(best, f"{better} than doing nothing", f"{worse} than doing nothing", unit)


def _answer(evidence, decided, metric, is_alone):
    if not decided:
        reasons = sorted({row["reason"] for row in evidence.rankings if row["reason"]} - {"not_ranked"})
        codes = dict.fromkeys(code for reason in reasons for code in reason.split("; ") if code in REASONS)
        why = in_words("; ".join(codes)) if codes else REASONS["nothing_to_rank"]
        return f"no evidence for any technique: {why}"
    words, used, avoided = _words(evidence, metric), decided["use"], decided["avoid"]
    equivalent, undecided = decided["equivalent"], _undecided(decided)
    if used:
        best = used[0]
        others = [row for row in _all(decided) if row["loss"] < best["loss"]]
        said = f"use {best['name']} ({words.better if others else words.best})"
        if others:
            said += (
                f"; {_names_are(others)} better still in the estimate "
                f"(P(best) {listed(probability(row['p_best']) for row in others)}), "
                "but not shown to be better than doing nothing"
            )
    elif equivalent and not undecided and is_alone:
        said = f"use no technique; {_names_are(equivalent)} equivalent to doing nothing ({_margin(equivalent)})"
    elif avoided or equivalent:
        said = f"no technique is shown to be {words.better}"
        if equivalent:
            said += f"; {_names_are(equivalent)} equivalent to it ({_margin(equivalent)})"
        if undecided:
            said += f"; there is no evidence on {_names(undecided)}"
    else:
        said = "no evidence for any technique: doing nothing is not shown to be worse"
        if len(decided[None]) == len(_all(decided)):
            said += f" ({in_words(decided[None][0]['reason'])})"
    if avoided:
        worse = words.worse
        if used and not others:
            worse = worse.replace(_words(evidence, metric).best.removeprefix("closest to "), "it")
        said += f"; do not use {_names(avoided)} ({worse})"
    return said


def _margin(rows):
    unit = METRICS[rows[0]["metric"]].unit
    return f"within {rows[0]['margin_pp']:g} {unit}"


def _description(evidence, decided, metric):
    """What a metric says beside the one that answers: described, not recommended."""
    words, undecided = _words(evidence, metric), _undecided(decided)
    first, others = decided["use"][:1], decided["use"][1:]
    is_best = first and first[0]["loss"] <= _all_by_loss(decided)[0]["loss"]
    parts = [
        f"{_names_are(rows)} {said}"
        for rows, said in (
            (first, f"better than doing nothing ({words.best if is_best else words.better})"),
            (others, "better than doing nothing too"),
            (decided["avoid"], f"worse ({words.worse})"),
            (decided["equivalent"], f"equivalent to doing nothing ({_margin(_all(decided))})"),
        )
        if rows
    ]
    if undecided and len(undecided) == len(_all(decided)):
        parts.append("there is no evidence for or against any technique")
    elif undecided:
        parts.append(f"there is no evidence on {_names(undecided)}")
    return "; ".join(parts)


def _all_by_loss(decided):
    return sorted(_all(decided), key=lambda row: row["loss"])


def _winners(decided):
    rows = _all_by_loss(decided)
    return {row["technique"] for row in rows if row["loss"] <= rows[0]["loss"] + 1e-9}


def _comparison(evidence, decided, beside, other):
    description = _description(evidence, beside, other)
    if _winners(decided) & _winners(beside):
        return f"The metrics share a winner: by {other}, {description}."
    is_of_both = "madb" not in (_all(decided)[0]["metric"], other)  # the probability is of deviation and susceptibility
    p = probability(_all(decided)[0]["p_metrics_disagree"]) if is_of_both else None
    how_sure = "" if p is None else f" (probability {p})"
    return f"The metrics disagree{how_sure}: by {other}, {description}."


def _conflicts(evidence, decided, beside, leading, other):
    """Say of each technique that one metric is for and the other against what that means, and which none is against."""
    words = {metric: _words(evidence, metric) for metric in (leading, other)}
    for metric, mine, against in ((leading, decided, beside), (other, beside, decided)):
        opposed = other if metric == leading else leading
        for row in mine["use"][:1]:
            bad = _first(against["avoid"], technique=row["technique"])
            if not bad:
                continue
            place = "best" if row["technique"] in _winners(mine) else "better than doing nothing"
            end = "worst" if bad["loss"] >= _all_by_loss(against)[-1]["loss"] else "worse than doing nothing"
            control = _first(evidence.places, metric=opposed, technique=CONTROL)
            sizes = f" ({bad['loss']:.1f} {METRICS[opposed].unit}" + (
                f", {control['loss']:.1f} without)" if control else ")"
            )
            so = ", so it is not recommended" if metric == other else "; which matters more depends on the decision"
            yield f"{row['name']} is {place} by {metric} and {end} by {opposed}: {words[opposed].worse}{sizes}{so}."
    either = {row["technique"] for row in decided["use"] + beside["use"]}
    no_worse = {row["technique"] for row in decided["use"] + decided["equivalent"]}
    no_worse &= {row["technique"] for row in beside["use"] + beside["equivalent"]}
    both = {row["technique"] for row in decided["use"]} & {row["technique"] for row in beside["use"]}
    if both:
        rows = [row for row in decided["use"] if row["technique"] in both]
        yield f"Better than doing nothing by both metrics: {_names(rows)}."
    if either & no_worse - both:
        rows = [row for row in _all(decided) if row["technique"] in either & no_worse - both]
        yield f"Better than doing nothing by one metric and equivalent by the other: {_names(rows)}."


def _no_spread(evidence):
    test = _first(evidence.equivalences, technique_b=None, metric="spread_pp")
    if not test or not test["equivalent"]:
        return None
    return (
        "There is no anchoring spread to remove: without a technique it is equivalent to zero "
        f"({test['difference']:.1f} pp, 90 % interval {test['low_90']:.1f} to {test['high_90']:.1f}, "
        f"margin {test['margin_pp']:g})."
    )


def _scope(evidence, decided):
    rows = _all(decided)
    reasons = {code for row in rows for code in (row["reason"] or "").split("; ")}
    noun = "simulated respondent" if evidence.is_simulated else "LLM"
    n = len(evidence.llms)
    those = (
        f"the {n} {noun}s that were asked: {listed(evidence.llms)}"
        if n > 1
        else f"the one {noun} asked: {listed(evidence.llms or ['unknown'])}"
    )
    if evidence.llm:
        said = f"This speaks only of {evidence.llm}, of its own trials."
    elif "too_few_llms" in reasons and "not_ranked_with_the_others" not in reasons:
        said = f"This speaks only of {those}."
    else:
        said = f"This speaks of {noun}s like {those}."
    unranked = [row for row in rows if "not_ranked_with_the_others" in (row["reason"] or "")]
    if unranked:
        said += f" Too few were asked with {_names(unranked)}."
    if evidence.without_baseline:
        said += f" Left out, for want of a baseline: {listed(evidence.without_baseline)}."
    return said


def _attrition(evidence, metric):
    if not any(row["not_identified"] for row in evidence.rankings):
        return None
    names = _names_of(evidence)
    missing = [row for row in evidence.bounds if row["n_missing"] and row["technique"] in names]
    of = [f"{row['n_missing']:,} of {row['n_asked']:,} of {names[row['technique']]}" for row in missing]
    said = "Attrition: had every trial been answered, the order by deviation could be another" + (
        f" (trials without an answer: {listed(of)})." if of else "."
    )
    bounds = {row["technique"]: row for row in evidence.bounds if row["deviation_most"] is not None}
    nothing = bounds.get(CONTROL)
    if metric != "deviation" or not nothing:
        return said
    holds = {
        "use": lambda of: of["deviation_most"] < nothing["deviation_least"],
        "avoid": lambda of: of["deviation_least"] > nothing["deviation_most"],
    }
    reversible = [
        row
        for row in evidence.places
        if row["metric"] == "deviation" and row["decision"] in holds and row["technique"] in bounds
        and not holds[row["decision"]](bounds[row["technique"]])
    ]  # fmt: skip
    if reversible:
        return f"{said} That could undo what is said of {_names(reversible)}."
    return f"{said} It could not turn a technique that is better than doing nothing into a worse one, or the reverse."


def _contested(evidence):
    if not evidence.contested:
        return None
    each = listed(f"{row['n_contested']:,} of {row['n_trials']:,} of {row['llm']}" for row in evidence.contested)
    said = f"Contested baseline: the recorded number is not the one that the text states in {each} (unanchored trials)."
    names = _names_of(evidence)
    stands = {
        (row["response_source"], row["technique"]): row["stands"]
        for row in evidence.specifications
        if row["predicate"] == PREDICATES["deviation"]
    }
    has_flipped = False
    for is_closer, word in ((True, "closer"), (False, "not closer")):
        flipped = [
            names[technique]
            for (source, technique), now in stands.items()
            if source == "reparsed" and technique in names
            and now == is_closer and stands.get(("recorded", technique)) == (not is_closer)
        ]  # fmt: skip
        if flipped:
            has_flipped = True
            said += (
                f" With the numbers of the texts {listed(flipped)} would be {word} to the baseline than no technique."
            )
    if not has_flipped and _first(evidence.specifications, response_source="reparsed"):
        said += " With the numbers of the texts the same techniques are closer to the baseline than no technique."
    return said


def _cheaper(evidence, decided, metric):
    """Say which techniques are as near to the baseline as the best one, and cost less."""
    if metric != "deviation" or not decided or not decided["use"]:
        return None
    best, names = decided["use"][0], _names_of(evidence)
    costs = {technique: found["cost_usd_per_1000"] for technique, found in evidence.costs.items()}
    own = costs.get(best["technique"])
    parts = []
    for row in evidence.equivalences:
        pair = {row["technique_a"], row["technique_b"]}
        if not row["equivalent"] or row["metric"] != "percent_of_baseline" or best["technique"] not in pair:
            continue
        (other,) = pair - {best["technique"]}
        if other not in names:
            continue
        cost = costs.get(other)
        equivalent = f"{names[other]} is equivalent to {best['name']} within {row['margin_pp']:g} pp"
        if own is None or cost is None:
            parts.append(f"{equivalent}; what each costs is not known")
        elif cost < own:
            parts.append(f"{equivalent} and costs less ({cost:,.2f} instead of {own:,.2f} USD per 1,000 decisions)")
    return f"{'; '.join(parts)}." if parts else None


def _sensitivity(evidence, decided, metric):
    if metric not in PREDICATES or not decided or not decided["use"]:
        return None
    best = decided["use"][0]
    recorded = {"predicate": PREDICATES[metric], "technique": best["technique"], "response_source": "recorded"}
    row = _first(evidence.specifications, **recorded)
    if not row or row["share_standing"] is None:
        return None
    n = row["n_specifications"]
    return (
        f"That {best['name']} is better than doing nothing stands in {round(row['share_standing'] * n)} of {n} "
        "specifications of the analysis."
    )
