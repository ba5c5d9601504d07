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
    arms = f"{bias['arm']} and {bias['arm_b']}"
    if bias["value"] is None:
        return f"{bias['measure']}: {arms} were never asked of the same item, so that they cannot be compared."
    said = (
        f"{bias['measure']}: without a technique {bias['arm']} and {bias['arm_b']} differ by {_interval(bias, 'value')}"
    )
    if bias["low"] is None:
        return f"{said}; the answers are too few or too alike to say how sure that is."
    shows = "the data cannot tell it from no bias" if bias["low"] <= 0 <= bias["high"] else "there is a bias"
    return f"{said}: {shows}, for LLMs and items like the {bias['n_llms']} LLMs and {bias['n_items']} items asked."


def _sentence_of_one_arm(bias):
    if bias["value"] is None:
        return f"{_measure(bias)}: no answer without a technique has a value."
    said = (
        f"{_measure(bias)}: without a technique it is {_interval(bias, 'value')} off the value that it is held against"
    )
    if bias["low"] is None:
        return f"{said}; the answers are too few or too alike to say how sure that is."
    return f"{said}, for LLMs and items like the {bias['n_llms']} LLMs and {bias['n_items']} items asked."


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
