"""`bais recommend --paradigm`: how large a bias is, and which technique makes it smaller."""

from bais import terminal
from bais.terminal import fixed, lay_out, say, say_json
from bais.warehouse import records, refuse_unknown
from ingest.warehouse import UserError, printable, warehouse_path

ASKED = """
select distinct study, paradigm, measure from inference.outcome_contrasts
where study = coalesce($study, study) order by all
"""
BIASES = """
select study, paradigm, measure, instrument, arm, arm_b, technique, value, low, high, n_llms, n_items, n_trials, reason
from inference.outcome_contrasts
where is_headline and paradigm = $paradigm and study = $study and measure = $measure
order by instrument, arm, arm_b, technique != 'no_technique', technique
"""
DECISIONS = """
select study, paradigm, measure, instrument, arm, arm_b, llm, technique, control, comparison, loss, loss_control, gain,
    gain_low, gain_high, decision, decision_asked, certainty, n_reversed, margin, n_llms, n_trials, reason
from inference.outcome_decisions
where
    paradigm = $paradigm and study = $study and measure = $measure and comparison = 'control'
    and llm is not distinct from $llm
order by instrument, arm, arm_b, technique
"""


def recommend_on_bias(
    warehouse, paradigm: str, measure: str | None, study: str | None, llm: str | None, as_json: bool
) -> None:
    """Say how large a bias is without a technique, and what each technique does to it."""
    asked = records(warehouse, ASKED, {"study": study})
    refuse_unknown("paradigm", paradigm, dict.fromkeys(row["paradigm"] for row in asked), none="none was asked yet")
    studies = list(dict.fromkeys(row["study"] for row in asked if row["paradigm"] == paradigm))
    if len(studies) > 1:
        raise UserError(f"{printable(paradigm)} is in several studies: say which with --study, of {', '.join(studies)}")
    measures = [row["measure"] for row in asked if row["paradigm"] == paradigm]
    refuse_unknown("measure", measure, measures)
    keys = {"study": studies[0], "paradigm": paradigm, "llm": llm}
    biases, decisions = [], []
    for one in [measure] if measure else measures:
        biases += records(warehouse, BIASES, keys | {"measure": one})
        decisions += records(warehouse, DECISIONS, keys | {"measure": one})
    if llm and not decisions:
        raise UserError(f"{printable(llm)} was not asked with a technique in {printable(paradigm)}")
    if as_json:
        say_json({**keys, "biases": biases, "decisions": decisions})
        return
    for bias in biases:
        if bias["technique"] == "no_technique":
            say(_sentence(bias))
    heads = [
        "measure",
        "arms",
        "technique",
        "bias (95 % interval)",
        "decision",
        "bias made\nsmaller by",
        "reversed\nin LLMs",
    ]
    print()
    print(
        lay_out(
            heads, [_row(of, decisions) for of in biases], width=terminal.terminal_width(), null="", right=(3, 5, 6)
        )
    )
    print()
    if any(of["certainty"] == "too_few_llms" for of in decisions):
        say("Fewer than five LLMs were asked, too few to speak of others.")
    say(f"Study: {studies[0]}. Warehouse: {warehouse_path()}")


def _sentence(bias):
    if bias["arm_b"] is None:
        return _sentence_of_one_arm(bias)
    arm, arm_b, value, low, high = (bias[key] for key in ("arm", "arm_b", "value", "low", "high"))
    measure = _measure(bias)
    if value is None:
        return f"{measure}: no LLM has answers in {arm} and in {arm_b} that can be compared."
    is_same = f"{abs(value):.3g}" == "0"
    side = "the same as" if is_same else f"{abs(value):.3g} {'above' if value > 0 else 'below'}"
    said = f"{measure}: without a technique the mean in {arm} is {side} {'' if is_same else 'that '}in {arm_b}"
    if low is None:
        return f"{said}. How sure that is cannot be said: {_unsure(bias)}."
    shows = "the data cannot tell it from no bias" if low <= 0 <= high else "there is a bias"
    return (
        f"{said} (95 % interval of the difference {low:+.3g} to {high:+.3g}): {shows}, for LLMs and items like the "
        f"{bias['n_llms']} LLMs and {bias['n_items']} items asked."
    )


def _unsure(bias):
    """Say why the mean over LLMs has no interval."""
    n_llms = bias["n_llms"]
    return {
        "too_few_llms": f"only {n_llms} {'LLM was' if n_llms == 1 else 'LLMs were'} asked (five are needed)",
        "one_item": "only one item was asked in an arm",
        "zero_variance": "the answers of all LLMs on all items are alike",
    }[bias["reason"]]


def _sentence_of_one_arm(bias):
    """Say how far the only arm of a paradigm is from what it is held against."""
    if bias["value"] is None:
        return f"{_measure(bias)}: no answer without a technique has a value."
    said = f"{_measure(bias)}: without a technique the mean differs from its reference by {bias['value']:+.3g}"
    if bias["low"] is None:
        return f"{said}. How sure that is cannot be said: {_unsure(bias)}."
    bounds = f"{fixed(bias['low'], '+.3g')} to {fixed(bias['high'], '+.3g')}"
    return (
        f"{said} (95 % interval {bounds}), for LLMs and items like the {bias['n_llms']} LLMs and {bias['n_items']} "
        "items asked."
    )


def _measure(bias):
    return bias["measure"] if bias["instrument"] is None else f"{bias['measure']} ({bias['instrument']})"


def _row(bias, decisions):
    from analysis.advice import DECISIONS as WORDS

    keys = ("measure", "instrument", "arm", "arm_b", "technique")
    decision = next((of for of in decisions if all(of[key] == bias[key] for key in keys)), None)
    said = [None, None, None]
    if decision:
        gain = {"gain": decision["gain"], "low": decision["gain_low"], "high": decision["gain_high"]}
        said = [WORDS[decision["decision"]], _interval(gain, "gain"), decision["n_reversed"]]
    arms = bias["arm"] if bias["arm_b"] is None else f"{bias['arm']} less {bias['arm_b']}"
    return [_measure(bias), arms, bias["technique"], _interval(bias, "value"), *said]


def _interval(row, name):
    if row[name] is None:
        return None
    bounds = "" if row["low"] is None else f" ({fixed(row['low'], '+.3g')} to {fixed(row['high'], '+.3g')})"
    return f"{row[name]:+.3g}{bounds}"
