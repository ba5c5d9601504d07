"""What the tables say of a bias other than anchoring: how large it is, and what each technique does to it."""

from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from analysis.words import codes, measures
from analysis.words.codes import codes_of, in_ways_of_counting, listed
from analysis.words.settling import settling

CERTAINTY = codes.CERTAINTY | {
    "contradicted_elsewhere": "another measure or another comparison of arms of this bias says the opposite"
}
DESCRIBED = "Measures of texts describe answers, and nothing is decided on them"
EITHER = "helps in one comparison and harms in another"
NONE_SHOWN = "no technique is shown to make it better or worse"
BIAS_CAVEATS = {
    **{code: codes.CAVEATS[code] for code in ("attrition_could_reverse", "attrition_could_change")},
    "judge_errors_counted": (
        "What judges get wrong is in {names}: their errors add changes where there are none, and make gains look "
        "smaller. `bais tables content.framing_changes` says how large the share is without them (phi_corrected)."
    ),
    "bias_moved": "{names} moves the bias of an LLM by more than the margin, so it is not called no difference.",
}
SURE = 0.05  # a p value below which a bias is said to be shown, and items to differ


class Shown(NamedTuple):
    """Of whom the table speaks: one LLM that was asked, one that was not (`is_foretold`), or else all that were."""

    llm: str | None
    is_foretold: bool
    noun: str

    @property
    def whom(self):
        """The LLM that the chance of a smaller bias is of."""
        return self.llm if self.llm else f"one more {self.noun} that nobody asked"

    @property
    def column(self):
        """Where a row says what is decided on it."""
        return "decision_asked" if self.llm else "decision"


def sentences(biases, noun, corrected):
    """Say how large each bias is without a technique, the leading one first, and once of two that say the same.

    Parameters
    ----------
    biases : list of dict
        Rows of `inference.outcome_contrasts`, each with what its paradigm says of the measure and the `name` of its
        technique.
    noun : str
        What those are called who answered.
    corrected : callable
        Returns the row on a share without what judges get wrong, if there is one, in a list.

    Yields
    ------
    str
    """

    different, mirrors = measures.without_mirrors(biases)
    leading = list(dict.fromkeys(bias["measure"] for bias in different if bias["is_leading"]))
    for is_leading, of_kind in groupby(different, key=itemgetter("is_leading")):
        if leading and not is_leading:
            leads, them = ("leads", "it") if len(leading) == 1 else ("lead", "them")
            yield f"{listed(leading)} {leads}: headlines speak of {them} alone. The other measures follow."
        for bias in of_kind:
            if bias["technique"] == codes.CONTROL:
                yield _sentence(bias, noun)
                if bias["measured_from"] == "judgement":
                    yield _corrected(corrected())
    for measure, other in mirrors.items():
        yield f"{measure} says the same as {other}: what it gains, the other loses."


def headline(biases, decisions, leading, noun):
    """Say by the leading measure the clearest bias of a paradigm without a technique, and what helps against one.

    Parameters
    ----------
    biases, decisions : list of dict
        As of `sentences`; and rows of `inference.decisions` with the same beside them.
    leading : list of dict
        The measures that lead.
    noun : str

    Returns
    -------
    str
    """
    told = [bias for bias in biases if bias["is_leading"]] if leading else biases  # none leads of those that describe
    alone = [bias for bias in told if bias["technique"] == codes.CONTROL and bias["value"] is not None]
    alone, _ = measures.without_mirrors(alone)
    if not alone:
        by = f" by {' or '.join(measure['measure'] for measure in leading)}" if leading else ""
        return f"no {noun} has answers without a technique that can be compared{by}."
    # of what is measured without a value to hold it against, no mean is a bias
    held = [bias for bias in alone if measures.is_held_against_best(bias)]
    sure = [bias for bias in held if bias["low"] is not None]
    shown = [bias for bias in sure if _is_shown(bias)]
    clearest = max(sure or held or alone, key=_clearness)
    statements = [f"{_size(clearest)} ({_rests_on(clearest, noun)})"]
    if len(held) > 1 and sure:
        statements.append(f"The data show a bias in {len(shown)} of {len(held)} comparisons; this one is the clearest")
    elif sure:
        statements.append("This is a bias" if shown else "The data cannot tell this from no bias")
    elif held:
        statements.append(f"How sure that is cannot be said: {_unsure(clearest, noun)}")
    if clearest["llm"]:
        statements.append(f"Only one {noun} was asked, {clearest['llm']}: this says nothing of others")
    return f"{'. '.join([*statements, _helpers(decisions) if leading else DESCRIBED])}."


def _clearness(bias):
    return abs(bias["value"]) / ((bias["high"] - bias["low"]) or 1 if bias["low"] is not None else 1)


def _size(bias):
    """Say in the words of the measure how large a bias is without a technique."""
    where = f"in {bias['arm']} than in {bias['arm_b']}"
    if bias["arm_b"] is None:
        mean = measures.level(bias, bias["value"] + (bias["reference"] or 0.0))
        return f"without a technique {measures.meaning(bias)} is {mean}, where {measures.what_is_best(bias)}"
    if f"{abs(bias['value']):.3g}" == "0":
        return f"without a technique {measures.meaning(bias)} is the same in {bias['arm']} and in {bias['arm_b']}"
    side = "higher" if bias["value"] > 0 else "lower"
    return f"without a technique {measures.meaning(bias)} is {measures.difference(bias, bias['value'])} {side} {where}"


def _rests_on(bias, noun):
    """Say within which bounds a bias lies, and how many LLMs and items it rests on."""
    n_llms, n_items = bias["n_llms"], bias["n_items"]
    bounds = "" if bias["low"] is None else f"95 % interval {_bounds(bias)}; "
    return f"{bounds}{n_llms} {noun}{'s' * (n_llms != 1)}, {n_items} item{'s' * (n_items != 1)}"


def _bounds(bias):
    """Write the interval of a difference, or of the mean of an only arm."""
    ends = [measures.possible(bias, bias[end]) for end in ("low", "high")]
    if bias["arm_b"] is None:
        return " to ".join(measures.level(bias, end + (bias["reference"] or 0.0)) for end in ends)
    return " to ".join(f"{measures.in_unit(bias, end):+.3g}" for end in ends)


def decided_by_leading(decisions):
    """Sort techniques by what the leading measure says; of one LLM that was asked alone, by what it says of that one.

    Parameters
    ----------
    decisions : list of dict

    Returns
    -------
    dict of str to list of str
        Those to `use`, to `avoid`, and those of which it says the one here and the other there (`either`).
    """
    use, avoid = (
        {
            decision["name"]
            for decision in decisions
            if decision["is_leading"] and decision["decision_asked" if decision["llm"] else "decision"] == word
        }
        for word in ("use", "avoid")
    )
    return {"use": sorted(use - avoid), "avoid": sorted(avoid - use), "either": sorted(use & avoid)}


def _helpers(decisions):
    """Say what to use and to avoid by the leading measure."""
    decisions = [decision for decision in decisions if decision["is_leading"]]
    decided = decided_by_leading(decisions)
    phrases = [f"{word} {', '.join(decided[word])}" for word in ("use", "avoid") if decided[word]]
    phrases += [f"{', '.join(decided['either'])} {EITHER}"] if decided["either"] else []
    turned = {decision["name"] for decision in decisions if "bias_reversed" in codes_of(decision)}
    turned = turned.difference(*decided.values())
    phrases += [f"{name} turns the bias round, and is not recommended" for name in sorted(turned)]
    if not decisions:
        return "No technique was asked"
    text = "; ".join(phrases) or NONE_SHOWN
    return text[0].upper() + text[1:]


def _sentence(bias, noun):
    if bias["value"] is None:
        where = "" if bias["arm_b"] is None else f" in {bias['arm']} and in {bias['arm_b']}"
        who = (bias["llm"]) if bias["llm"] else f"no {noun}"
        has = "has no answers" if bias["llm"] else "has answers"
        return f"{measures.named(bias)}: {who} {has} without a technique{where} that can be compared."
    statement = f"{measures.named(bias)}: {_size(bias)}"
    if bias["low"] is None:
        return f"{statement}. How sure that is cannot be said: {_unsure(bias, noun)}."
    of_what = " of the difference" if bias["arm_b"] is not None else ""
    statement = f"{statement} (95 % interval{of_what} {_bounds(bias)})"
    if bias["arm_b"] is None:
        return f"{statement}, for {_like(bias, noun)}.{_of_items(bias)}"
    shows = "there is a bias" if _is_shown(bias) else "the data cannot tell it from no bias"
    return f"{statement}: {shows}, for {_like(bias, noun)}.{_by_chance(bias)}{_of_items(bias)}"


def _holds_none(bias):
    return bias["low"] <= 0 <= bias["high"]


def _is_shown(bias):
    """Whether the data show a bias, beside all the comparisons of its measure that are tested at once."""
    return not _holds_none(bias) and (bias["p_holm"] is None or bias["p_holm"] < SURE)


def _by_chance(bias):
    """Say of an interval that leaves 0 out why that shows no bias."""
    if _is_shown(bias) or _holds_none(bias):
        return ""
    return (
        f" Its interval leaves 0 out, but of {bias['n_tests']} comparisons that are tested at once one may do so by "
        f"chance (p, by Holm, is {bias['p_holm']:.2g})."
    )


def _corrected(rows):
    """Say how large a share that rests on judges is without their errors, or that these are in it."""
    if not rows:
        return "What judges get wrong is in this share: it is not known well enough how often they err to take it off."
    (row,) = rows
    bounds = "" if row["low"] is None else f" (95 % interval {100 * row['low']:.3g} % to {100 * row['high']:.3g} %)"
    return f"Without what judges get wrong, this share is {100 * row['phi_corrected']:.3g} %{bounds}."


def _of_items(bias):
    """Say that items differ in a bias, of which the mean over them says nothing."""
    if bias["p_items_alike"] is None or bias["p_items_alike"] >= SURE:
        return ""
    cancels = ", so opposite biases of items may cancel in this mean" if _holds_none(bias) else ""
    return f" Items differ in it (standard deviation {measures.difference(bias, bias['sd_of_items'])}){cancels}."


def _like(bias, noun):
    """Say of whom an interval speaks."""
    if bias["llm"]:
        return f"{bias['llm']} and items like the {bias['n_items']} asked"
    return f"{noun}s and items like those asked ({bias['n_llms']} {noun}s, {bias['n_items']} items)"


def _unsure(bias, noun):
    """Say why the mean over LLMs has no interval."""
    n_llms = bias["n_llms"]
    return {
        "too_few_llms": f"only {n_llms} {noun}{' was' if n_llms == 1 else 's were'} asked (five are needed)",
        "one_item": "only one item was asked in an arm",
        "zero_variance": f"the answers of all {noun}s on all items are alike",
    }[codes_of(bias)[0]]


def row_of(bias, rows):
    """Return the row, of some, on the technique and contrast of a bias, or None."""
    keys = ("measure", "instrument", "arm", "arm_b", "technique")
    return next((row for row in rows if all(row[key] == bias[key] for key in keys)), None)


def notes(biases, decisions, sensitivity, next_steps, shown):
    """Say below a table of biases and decisions what its columns mean and how sure it is.

    Parameters
    ----------
    biases, decisions : list of dict
        As of `headline`.
    sensitivity : list of dict
        Of each decision in how many ways of counting it is the same.
    next_steps : list of dict
        Rows of `inference.power` of the design `to_settle`.
    shown : Shown

    Yields
    ------
    str
    """

    if any(bias["p_holm"] is not None for bias in biases):
        yield (
            "p, by Holm: how probable a bias at least so large is by chance if there is none, made larger for all the "
            "comparisons of the measure that are tested at once."
        )
    if any(bias["measured_from"] == "measurement" for bias in biases):
        yield f"{DESCRIBED}."
    if not decisions:
        if not all(bias["measured_from"] == "measurement" for bias in biases):
            yield f"{shown.llm} was not asked with a technique." if shown.llm else "No technique was asked."
        return
    nearer = f"how much nearer {_nearer(decisions, shown)}, with what noise adds taken off"
    not_a_difference = "not the difference of two rows above, in which opposite signs cancel"
    if shown.llm:
        yield (
            f"Improved by: {nearer}, and then the mean over vignettes; so it is {not_a_difference}. Its interval is of "
            f"this {shown.noun}'s own trials and says nothing of others."
        )
    elif shown.is_foretold:
        yield (
            f"Improved by: what is expected in {shown.whom}, and between which bounds 95 % of such {shown.noun}s lie. "
            f"It is {nearer}; so it is {not_a_difference}."
        )
    else:
        yield f"Improved by: {nearer}, and then the mean; so it is {not_a_difference}."
    yield f"P(better): how probable it is that the technique improves on its control in {shown.whom}."
    in_whom = f"whether in {shown.llm}" if shown.llm else f"in how many {shown.noun}s"
    if any(decision["arm_b"] is not None for decision in decisions):
        yield (
            f"Reversed: {in_whom} the technique turns the bias round, so that it points the other way by more than the "
            "margin and beyond the noise of the answers."
        )
    yield (
        "The items of a vignette are averaged first: where their biases are opposite they cancel, so a technique that "
        "makes each of them smaller may gain nothing here."
    )
    if not shown.llm:
        yield from _certainties(decisions, shown.noun)
        yield from _turns(decisions, sensitivity)
        named_of = {_compared(row): _named(row) for row in decisions}
        open_ones = [row for row in next_steps if _compared(row, "technique_a", "technique_b") in named_of]
        if sentence := settling(
            open_ones, lambda row: named_of[_compared(row, "technique_a", "technique_b")], shown.noun
        ):
            yield sentence
    yield from _reversals(decisions, shown)
    yield from _above_the_loss(decisions, shown)
    for code, caveat in BIAS_CAVEATS.items():
        if names := [_named(decision) for decision in decisions if code in codes_of(decision)]:
            yield caveat.format(names=listed(names))


def _nearer(decisions, shown):
    """Say what comes nearer to what where a technique helps: two arms to each other, or an only arm to what is best."""

    whose = f"of {shown.llm} on each vignette" if shown.llm else f"of each {shown.noun} on each vignette"
    at_best = {}
    for row in decisions:
        if row["arm_b"] is None:
            at_best.setdefault(measures.level(row, measures.best(row)), {})[measures.named(row)] = None
    ways = [f"{value} ({listed(names)})" for value, names in at_best.items()]
    phrases = [f"the mean {whose} comes to {listed(ways, 'or to')}"] if ways else []
    phrases += [f"the two arms {whose} come to each other"] if any(decision["arm_b"] for decision in decisions) else []
    return "; or ".join(phrases)


def _compared(row, technique="technique", control="control"):
    """What tells a comparison from the others of its paradigm."""
    return (*(row[name] for name in ("measure", "instrument", "arm", "arm_b")), row[technique], row[control])


def _named(decision):
    return f"{decision['name']} ({measures.named(decision)}, {measures.arms(decision)})"


def _above_the_loss(decisions, shown):
    """Name the gains whose intervals end above the whole loss."""

    high = "gain_asked_high" if shown.llm else "gain_high"
    ends = [
        f"{_named(row)}, up to {measures.difference(row, row[high])} of {measures.difference(row, row['loss_control'])}"
        for row in decisions
        if row[high] is not None and row["loss_control"] is not None and row[high] > row["loss_control"]
    ]
    if ends and not shown.is_foretold:
        yield f"{codes.ABOVE_THE_LOSS}: {listed(ends)}."


def _reversals(decisions, shown):
    """Say of each technique that turns the bias round in whom, and what it gains although it does."""
    for decision in decisions:
        if "bias_reversed" not in codes_of(decision):
            continue
        n_reversed, n_llms = decision["n_reversed"], decision["n_llms"]
        whose = f"of {shown.llm} " if shown.llm else ""
        where = f"in {n_reversed} of {n_llms} {shown.noun}s" if n_reversed else f"in some of the {n_llms} {shown.noun}s"
        in_whom = "" if shown.llm else f" {where}" if n_reversed else f" {where} or in their mean"
        kind = "_asked" if shown.llm else ""
        low, high = decision[f"gain{kind}_low"], decision[f"gain{kind}_high"]
        does = f"turns the bias {whose}round{in_whom}"
        if low is not None and low > 0:
            low, high = (f"{measures.in_unit(decision, end):.3g}" for end in (low, high))
            gain = measures.difference(decision, decision["gain"])
            does = f"brings the bias nearer to none by {gain} ({low} to {high}), but {does}"
        withheld = ": neither “use” nor “no difference” is said of it" if decision[f"decision{kind}"] != "avoid" else ""
        yield f"{_named(decision)} {does}, so that it points the other way{withheld}."


def _turns(decisions, sensitivity):
    """Say of each technique that is decided on what would turn the decision."""

    for decision in decisions:
        if sentence := in_ways_of_counting(_named(decision), decision["decision"], row_of(decision, sensitivity)):
            yield sentence


def _certainties(decisions, noun):
    """Say how sure each decision is, and of which techniques where that is not of all alike."""
    certain = {}
    for row in decisions:
        if row["certainty"]:
            certain.setdefault(row["decision"], {}).setdefault(row["certainty"], []).append(row)
    for decision, by_certainty in certain.items():
        for certainty, rows in by_certainty.items():
            which = ", ".join(map(_named, rows))
            of_which = f" ({which})" if len(by_certainty) > 1 else ""
            words = CERTAINTY[certainty].replace("LLM", noun)
            yield f"How sure of “{codes.DECISIONS[decision]}”{of_which}, counted as we recommend: {words}."
