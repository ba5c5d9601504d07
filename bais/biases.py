"""`bais recommend --paradigm`: how large a bias is, and which technique makes it smaller."""

from typing import NamedTuple

from bais import terminal
from bais.terminal import fixed, lay_out, say, say_json
from bais.warehouse import llm_named, records, refuse_unknown, values
from ingest.warehouse import UserError, printable, warehouse_path

NO_TECHNIQUE = "no_technique"
ASKED = """
select distinct study, paradigm, measure from inference.outcome_contrasts
where study = coalesce($study, study) order by all
"""
# what was asked and put to a measure, and by none of its trials answered
UNANSWERED = """
select study, measure, count(*) as n_trials, list(distinct reason order by reason) as reasons
from marts.outcomes
where
    paradigm = $paradigm and measure = coalesce($measure, measure) and study = coalesce($study, study)
group by study, measure
having count(value) = 0
order by study, measure
"""
LLMS = "select distinct llm from inference.outcome_contrasts where study = $study and paradigm = $paradigm"
SOURCES = """
select distinct source from marts.trials where study = $study and paradigm = $paradigm and role is null order by source
"""
# of all LLMs with an interval over LLMs and items; of one, over its items
BIASES = """
select study, paradigm, measure, instrument, arm, arm_b, llm, technique, value, low, high, p_holm, n_tests, sd_of_items,
    p_items_alike, n_llms, n_items, n_trials, reason
from inference.outcome_contrasts
where
    study = $study and paradigm = $paradigm and measure = coalesce($measure, measure)
    and case
        when $llm is null then is_headline
        else llm = $llm and level = 'items' and row_set = 'accepted' and weighting = 'llm'
    end
order by measure, instrument, arm, arm_b, technique != 'no_technique', technique
"""
DECISIONS = """
select study, paradigm, measure, instrument, arm, arm_b, llm, technique, control, comparison, loss, loss_control, gain,
    gain_low, gain_high, gain_asked_low, gain_asked_high, decision, decision_asked, certainty, n_reversed, margin,
    n_llms, n_trials, reason
from inference.outcome_decisions
where
    study = $study and paradigm = $paradigm and measure = coalesce($measure, measure) and comparison = 'control'
    and llm is not distinct from $llm
order by measure, instrument, arm, arm_b, technique
"""
PREDICTIONS = """
select study, paradigm, measure, instrument, arm, arm_b, llm, technique, control, expected_loss, gain, gain_low,
    gain_high, p_better_than_control, n_llms, reason
from inference.outcome_predictions
where
    study = $study and paradigm = $paradigm and measure = coalesce($measure, measure)
    and llm is not distinct from $llm
order by measure, instrument, arm, arm_b, technique
"""
# in how many specifications a decision is the same, and what was turned in those in which it is another
SENSITIVITY = """
select measure, instrument, arm, arm_b, technique, any_value(n_same_decision) as n_same_decision,
    any_value(n_specifications) as n_specifications, any_value(carried_by) as carried_by,
    coalesce(list([switch, case switch when 'row_set' then row_set else refusals end] order by switch, refusals)
        filter (where decision != recommended and switch != 'llm_left_out'), []) as others
from (
    select *, any_value(decision) filter (where is_recommended)
        over (partition by measure, instrument, arm, arm_b, technique, control) as recommended
    from inference.outcome_sensitivity
    where
        study = $study and paradigm = $paradigm and measure = coalesce($measure, measure) and comparison = 'control'
)
group by measure, instrument, arm, arm_b, technique
order by measure, instrument, arm, arm_b, technique
"""
ELSEWHERE = "another measure or another comparison of arms of this bias says the opposite"
CAVEATS = {
    "attrition_could_reverse": "Missing answers could reverse what is said of {}.",
    "attrition_could_change": "Had every trial been answered, the decision on {} could be another.",
    "bias_moved": "{} moves the bias of an LLM by more than the margin, so it is not called no difference.",
}
SURE = 0.05  # a p value below which items are said to differ
SIMULATED = "SIMULATED respondents, no LLM was asked."
PARTLY_SIMULATED = "Some respondents are SIMULATED and no LLMs."


class Shown(NamedTuple):
    """Of whom the table speaks: one LLM that was asked, one that was not (`is_foretold`), or else all that were."""

    llm: str | None
    is_foretold: bool
    noun: str

    @property
    def whom(self):
        """The LLM that the chance of a smaller bias is of."""
        return printable(self.llm) if self.llm else f"one more {self.noun} that nobody asked"


def recommend_on_bias(
    warehouse, paradigm: str, measure: str | None, study: str | None, llm: str | None, as_json: bool
) -> None:
    """Say how large a bias is without a technique, and what each technique does to it."""
    asked = records(warehouse, ASKED, {"study": study})
    if not any(row["paradigm"] == paradigm and measure in (None, row["measure"]) for row in asked):
        _refuse_unanswered(warehouse, paradigm, measure, study)
    refuse_unknown(
        "paradigm",
        paradigm,
        dict.fromkeys(row["paradigm"] for row in asked),
        none="none that was asked and answered yet",
    )
    studies = list(dict.fromkeys(row["study"] for row in asked if row["paradigm"] == paradigm))
    if len(studies) > 1:
        raise UserError(f"{printable(paradigm)} is in several studies: say which with --study, of {', '.join(studies)}")
    refuse_unknown("measure", measure, [row["measure"] for row in asked if row["paradigm"] == paradigm])
    place = {"study": studies[0], "paradigm": paradigm}
    llms = values(warehouse, LLMS, place)
    llm = llm and llm_named(warehouse, llm, set(llms) - {None})
    is_asked = llm is None or llm in llms
    keys = place | {"measure": measure, "llm": llm if is_asked else None}
    biases, decisions, predictions = (records(warehouse, query, keys) for query in (BIASES, DECISIONS, PREDICTIONS))
    sensitivity = records(warehouse, SENSITIVITY, place | {"measure": measure})
    sources = values(warehouse, SOURCES, place)
    if as_json:
        say_json(
            {**place, "llm": llm, "is_asked": is_asked, "sources": sources, "biases": biases, "decisions": decisions,
             "predictions": predictions, "sensitivity": sensitivity}
        )  # fmt: skip
        return
    noun = "respondent" if sources == ["simulated"] else "LLM"
    if "simulated" in sources:
        say(SIMULATED if sources == ["simulated"] else PARTLY_SIMULATED)
    if llm and not is_asked:
        say(f"{printable(llm)} was not asked: what follows is of the {noun}s that were, and of one more like them.")
    for bias in biases:
        if bias["technique"] == NO_TECHNIQUE:
            say(_sentence(bias, noun))
    print()
    shown = Shown(llm if is_asked else None, is_foretold=not is_asked, noun=noun)
    _print_techniques(biases, decisions, predictions, shown)
    print()
    for note in _notes(decisions, sensitivity, shown):
        say(note)
    say(f"Study: {studies[0]}. Warehouse: {warehouse_path()}")


def _refuse_unanswered(warehouse, paradigm, measure, study):
    """Say of a paradigm or measure that was asked how many trials had no usable answer, and what shows them."""
    found = records(warehouse, UNANSWERED, {"paradigm": paradigm, "measure": measure, "study": study})
    if not found:
        return
    said = "; ".join(
        f"{printable(of['measure'])} of study {printable(of['study'])} in {of['n_trials']:,} trials, none with a "
        f"usable answer ({printable(', '.join(filter(None, of['reasons'])))})"
        for of in found
    )
    raise UserError(
        f"{printable(paradigm)} was asked, and nothing can be compared: {said}. `bais trials --study "
        f"{printable(found[0]['study'])}` shows what was replied"
    )


def headlines_on_biases(warehouse, study: str) -> list[str]:
    """Say of each paradigm of a study in one sentence how large the bias is and which technique helps."""
    found = []
    for paradigm in dict.fromkeys(row["paradigm"] for row in records(warehouse, ASKED, {"study": study})):
        keys = {"study": study, "paradigm": paradigm, "measure": None, "llm": None}
        found.append(_headline(paradigm, *(records(warehouse, query, keys) for query in (BIASES, DECISIONS))))
    return found


def _headline(paradigm, biases, decisions):
    """Say the clearest bias of a paradigm without a technique, and what helps against one of its biases."""
    more = f"`bais recommend --paradigm {printable(paradigm)}` says more."
    alone = [bias for bias in biases if bias["technique"] == NO_TECHNIQUE and bias["value"] is not None]
    if not alone:
        return f"{paradigm}: no LLM has answers without a technique that can be compared. {more}"
    sure = [bias for bias in alone if bias["low"] is not None]
    shown = [bias for bias in sure if not bias["low"] <= 0 <= bias["high"]]
    clearest = max(sure or alone, key=_clearness)
    size = f"{_measure(clearest)}, {_arms(clearest)}, {_interval(clearest, 'value')}"
    of_several = f" in {len(shown)} of {len(alone)} comparisons" if len(alone) > 1 else ""
    if shown:
        said = f"there is a bias without a technique{of_several} ({'clearest ' if of_several else ''}{size})"
    elif sure:
        said = f"the data cannot tell it from no bias without a technique ({size})"
    else:
        said = f"without a technique {size}, and how sure that is cannot be said: {_unsure(clearest)}"
    return f"{paradigm}: {said}; {_helpers(decisions)}. {more}"


def _clearness(bias):
    return abs(bias["value"]) / ((bias["high"] - bias["low"]) or 1 if bias["low"] is not None else 1)


def _helpers(decisions):
    decided = {
        word: list(dict.fromkeys(of["technique"] for of in decisions if of["decision"] == word))
        for word in ("use", "avoid")
    }
    said = [f"{word} {', '.join(names)}" for word, names in decided.items() if names]
    if not decisions:
        return "no technique was asked"
    return "; ".join(said) or "no technique is shown to make it smaller or larger"


def _sentence(bias, noun):
    if bias["arm_b"] is None:
        return _sentence_of_one_arm(bias, noun)
    arm, arm_b, value, low, high = (bias[key] for key in ("arm", "arm_b", "value", "low", "high"))
    measure = _measure(bias)
    if value is None:
        who = bias["llm"] and f"{printable(bias['llm'])} has no answers"
        return f"{measure}: {who or 'no LLM has answers'} in {arm} and in {arm_b} that can be compared."
    is_same = f"{abs(value):.3g}" == "0"
    side = "the same as" if is_same else f"{abs(value):.3g} {'above' if value > 0 else 'below'}"
    said = f"{measure}: without a technique the mean in {arm} is {side} {'' if is_same else 'that '}in {arm_b}"
    if low is None:
        return f"{said}. How sure that is cannot be said: {_unsure(bias)}."
    shows = "the data cannot tell it from no bias" if low <= 0 <= high else "there is a bias"
    return (
        f"{said} (95 % interval of the difference {low:+.3g} to {high:+.3g}): {shows}, for {_like(bias, noun)}."
        f"{_of_items(bias)}"
    )


def _of_items(bias):
    """Say that items differ in a bias, of which the mean over them says nothing."""
    if bias["p_items_alike"] is None or bias["p_items_alike"] >= SURE:
        return ""
    may_cancel = bias["low"] <= 0 <= bias["high"]
    cancels = ", so opposite biases of items may cancel in this mean" if may_cancel else ""
    return f" Items differ in it (standard deviation {bias['sd_of_items']:.3g}){cancels}."


def _like(bias, noun):
    """Say of whom an interval speaks."""
    if bias["llm"]:
        return f"{printable(bias['llm'])} and items like the {bias['n_items']} asked"
    return f"{noun}s and items like the {bias['n_llms']} {noun}s and {bias['n_items']} items asked"


def _unsure(bias):
    """Say why the mean over LLMs has no interval."""
    n_llms = bias["n_llms"]
    return {
        "too_few_llms": f"only {n_llms} {'LLM was' if n_llms == 1 else 'LLMs were'} asked (five are needed)",
        "one_item": "only one item was asked in an arm",
        "zero_variance": "the answers of all LLMs on all items are alike",
    }[bias["reason"]]


def _sentence_of_one_arm(bias, noun):
    """Say how far the only arm of a paradigm is from what it is held against."""
    if bias["value"] is None:
        return f"{_measure(bias)}: no answer without a technique has a value."
    said = f"{_measure(bias)}: without a technique the mean differs from its reference by {bias['value']:+.3g}"
    if bias["low"] is None:
        return f"{said}. How sure that is cannot be said: {_unsure(bias)}."
    bounds = f"{fixed(bias['low'], '+.3g')} to {fixed(bias['high'], '+.3g')}"
    return f"{said} (95 % interval {bounds}), for {_like(bias, noun)}.{_of_items(bias)}"


def _measure(bias):
    return bias["measure"] if bias["instrument"] is None else f"{bias['measure']} ({bias['instrument']})"


def _arms(bias):
    return bias["arm"] if bias["arm_b"] is None else f"{bias['arm']} less {bias['arm_b']}"


def _print_techniques(biases, decisions, predictions, shown):
    """Print each bias without a technique and with each, and what is decided about the technique."""
    smaller = "bias made\nsmaller by"
    heads = [
        "measure", "arms", "technique", "bias (95 % interval)", "p, by\nHolm",
        "decision on\nthis LLM" if shown.llm else "decision",
        f"{smaller}, in\none more LLM" if shown.is_foretold else smaller,
        f"P(better) in\n{'this LLM' if shown.llm else 'one more LLM'}",
        "reversed" if shown.llm else "reversed\nin LLMs",
    ]  # fmt: skip
    rows = [_row(bias, _of(bias, decisions), _of(bias, predictions), shown) for bias in biases]
    print(lay_out(heads, rows, width=terminal.terminal_width(), null="", right=(3, 4, 6, 7, 8)))


def _of(bias, rows):
    """Return the row on the technique and contrast of a bias."""
    keys = ("measure", "instrument", "arm", "arm_b", "technique")
    return next((of for of in rows if all(of[key] == bias[key] for key in keys)), None)


def _row(bias, decision, prediction, shown):
    from analysis.advice import DECISIONS as WORDS
    from analysis.advice import probability

    said = [None] * 4
    if decision:
        better = prediction and prediction["p_better_than_control"]
        n_reversed = decision["n_reversed"]
        is_reversed = n_reversed if n_reversed is None or not shown.llm else "yes" if n_reversed else "no"
        said = [
            WORDS[decision["decision_asked" if shown.llm else "decision"]],
            _interval(_gained(decision, prediction, shown), "gain"),
            None if better is None else probability(better),
            is_reversed,
        ]
    p_holm = None if bias["p_holm"] is None else probability(bias["p_holm"])
    return [_measure(bias), _arms(bias), bias["technique"], _interval(bias, "value"), p_holm, *said]


def _gained(decision, prediction, shown):
    """Return by how much a bias is made smaller in whom the table speaks of, with its interval."""
    if shown.is_foretold:
        found, low, high = prediction or {"gain": None, "gain_low": None}, "gain_low", "gain_high"
    elif shown.llm:
        found, low, high = decision, "gain_asked_low", "gain_asked_high"
    else:
        found, low, high = decision, "gain_low", "gain_high"
    return {"gain": found["gain"], "low": found[low], "high": found.get(high)}


def _notes(decisions, sensitivity, shown):
    """Say below the table what its columns mean and how sure it is."""
    from analysis.advice import listed

    yield (
        "p, by Holm: how probable a bias at least so large is by chance if there is none, made larger for all the "
        "comparisons of the measure that are tested at once."
    )
    if not decisions:
        yield f"{printable(shown.llm)} was not asked with a technique." if shown.llm else "No technique was asked."
        return
    noise = "whichever way it points, with what noise adds taken off"
    not_a_difference = "not the difference of the two biases above, in which opposite biases cancel"
    if shown.llm:
        yield (
            f"Bias made smaller by: how much nearer to 0 the bias of {printable(shown.llm)} on each vignette comes, "
            f"{noise}, and then the mean; so it is {not_a_difference}. Its interval is of this LLM's own trials and "
            "says nothing of others."
        )
    elif shown.is_foretold:
        yield (
            f"Bias made smaller by: what is expected in {shown.whom}, and between which bounds 95 % of such "
            f"{shown.noun}s lie. It is how much nearer to 0 a bias comes, {noise}; so it is {not_a_difference}."
        )
    else:
        yield (
            f"Bias made smaller by: how much nearer to 0 the bias of each {shown.noun} on each vignette comes, "
            f"{noise}, and then the mean; so it is {not_a_difference}."
        )
    yield f"P(better): how probable it is that the technique makes the bias smaller in {shown.whom}."
    in_whom = f"whether in {printable(shown.llm)}" if shown.llm else f"in how many {shown.noun}s"
    yield (
        f"Reversed: {in_whom} the technique turns the bias round, so that it points the other way by more than the "
        "margin and beyond the noise of the answers."
    )
    yield "The items of a vignette are averaged first, so opposite biases of items cancel and no technique is credited."
    if not shown.llm:
        yield from _certainties(decisions)
        yield from _turns(decisions, sensitivity)
    for code, said in CAVEATS.items():
        if names := [_named(of) for of in decisions if code in (of["reason"] or "").split("; ")]:
            yield said.format(listed(names))


def _named(of):
    return f"{of['technique']} ({_measure(of)}, {_arms(of)})"


def _turns(decisions, sensitivity):
    """Say of each technique that is decided on what would turn the decision."""
    from analysis.advice import COUNTED, TURNED_TO, listed

    for of in decisions:
        found = _of(of, sensitivity)
        if not found or of["decision"] in ("no_evidence", None) or found["n_specifications"] == 1:
            continue
        n = f"{found['n_same_decision']} of {found['n_specifications']}"
        said = f"{_named(of)}: the same decision in {n} ways of counting"
        others = [COUNTED[switch].format(TURNED_TO.get(value, value)) for switch, value in found["others"]]
        others += [f"without {found['carried_by']}"] if found["carried_by"] else []
        yield f"{said}, another {listed(others, 'or')}." if others else f"{said}."


def _certainties(decisions):
    """Say how sure each decision is, and of which techniques where that is not of all alike."""
    from analysis.advice import CERTAINTY
    from analysis.advice import DECISIONS as WORDS

    certain = {}
    for of in decisions:
        if of["certainty"]:
            certain.setdefault(of["decision"], {}).setdefault(of["certainty"], []).append(of)
    for decision, by_certainty in certain.items():
        for certainty, rows in by_certainty.items():
            which = ", ".join(map(_named, rows))
            of_which = f" ({which})" if len(by_certainty) > 1 else ""
            words = ELSEWHERE if certainty == "contradicted_elsewhere" else CERTAINTY[certainty]
            yield f"How sure of “{WORDS[decision]}”{of_which}: {words}."


def _interval(row, name):
    if row[name] is None:
        return None
    bounds = "" if row["low"] is None else f" ({fixed(row['low'], '+.3g')} to {fixed(row['high'], '+.3g')})"
    return f"{row[name]:+.3g}{bounds}"
