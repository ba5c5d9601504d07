"""What a bias is a bias of, in words: the meaning of its measure, its unit, and which value would be without bias."""

import re
from collections.abc import Callable, Iterable

from analysis.engine.measures import best_value
from analysis.words.codes import POINTS, Goal

DESIGN_EFFECT = re.compile(r"design_effect_([0-9.]*[0-9])")  # an instrument: see `int_counts_published`
CAUTIOUS = (
    "The source does not say how alike the runs of one cluster are. Shown is the cautious case, in which a whole "
    "cluster counts as one run ({cautious}). If all runs were independent ({other}), biases and gains would look "
    "surer; inference.decisions has both."
)

# what is measured of texts and facts, and whether it is a share; the measures of a paradigm's own name answers
BUILT_IN = {
    "framing_changed": ("the share of answers with another framing than their text", True),
    "similarity_beginning": ("the likeness of an answer to the beginning of its text", False),
    "similarity_middle": ("the likeness of an answer to the middle of its text", False),
    "similarity_end": ("the likeness of an answer to the end of its text", False),
    "coverage": ("the likeness of an answer to the thirds of its text, in their mean", False),
    "primacy_margin": ("the likeness of an answer to the beginning of its text less that to the middle", False),
    "primacy": ("the share of answers clearly nearer to the beginning of their text than to its middle", True),
    "recency": ("the share of answers clearly nearer to the end of their text than to its middle", True),
    "is_correct": ("the share of statements that were judged rightly", True),
    "strict_correct": ("the share of pairs (a true statement and its falsified twin) judged rightly in both", True),
}  # fmt: skip


def most_cautious(found: Iterable, name_of: Callable = str) -> list:
    """Of what differs in an assumed design effect alone, keep what has the largest: a cluster counts as one run."""
    of_others, found = {}, list(found)
    for name in map(name_of, found):
        of_others.setdefault(DESIGN_EFFECT.sub("", name), set()).add(name)
    largest = {max(names, key=_assumed) for names in of_others.values()}
    return [one for one in found if name_of(one) in largest]


def on_cautious(instruments: Iterable[str | None]) -> str | None:
    """Say which of several assumed design effects is shown, if there are several."""
    assumed = sorted({one for one in instruments if one and DESIGN_EFFECT.fullmatch(one)}, key=_assumed)
    return CAUTIOUS.format(cautious=assumed[-1], other=assumed[0]) if len(assumed) > 1 else None


def _assumed(name):
    found = DESIGN_EFFECT.search(name)
    return float(found[1]) if found else 0.0


def named(bias: dict) -> str:
    """Name a measure, and the instrument where it has one."""
    return bias["measure"] if bias["instrument"] is None else f"{bias['measure']} ({bias['instrument']})"


def unit_of(bias: dict) -> str | None:
    """Name the unit of a measure's differences; null where it is that of the answers."""
    return "pp" if is_share(bias) else f"% of the mean in {bias['relative_to']}" if bias.get("relative_to") else None


def with_unit(bias: dict) -> str:
    """Name a measure with its instrument and the unit of its differences."""
    details = ", ".join(filter(None, (bias["instrument"], POINTS if is_share(bias) else unit_of(bias))))
    return f"{bias['measure']} ({details})" if details else bias["measure"]


def meaning(bias: dict) -> str:
    """Say what a measure is, as the subject of a sentence."""
    if bias["measure"] in BUILT_IN:
        phrase = BUILT_IN[bias["measure"]][0]
        return phrase if bias["instrument"] is None else f"{phrase} (by {bias['instrument']})"
    if is_share(bias):
        labels = " or ".join(f"“{label}”" for label in bias["counted_labels"] or ())
        return f"the share of answers {labels}" if labels else f"the share of {bias['measure']}"
    return "the mean answer" if bias["answer_kind"] == "number" else bias["measure"]


def is_share(bias: dict) -> bool:
    """Whether values are 1 or 0, so that a mean is a share and a difference is in percentage points."""
    return BUILT_IN.get(bias["measure"], (None, bias["answer_kind"] in ("choice", "label")))[1]


def best(bias: dict) -> float | None:
    """Return the mean that would be without bias where there is one arm; null where nobody says which that is."""
    return best_value(bias["better"], bias["reference"], bias["answer_kind"])


def is_compared_with_best(bias: dict) -> bool:
    """Whether the value of a bias is what separates it from none, and not the mean of a measure without reference."""
    return bias["arm_b"] is not None or (bias["reference"] or 0.0) == best(bias)


def arms(bias: dict) -> str:
    """Name the arms of a bias, or its only arm and what is taken off."""
    if bias.get("is_unsigned"):
        return bias["arm"]
    return f"{bias['arm']} less {bias['arm_b'] or level(bias, bias['reference'] or 0.0)}"


def compared(row: dict) -> tuple:
    """Return what tells a comparison of arms by a measure from the others of its paradigm."""
    return tuple(row[name] for name in ("measure", "instrument", "arm", "arm_b"))


def label(bias: dict) -> str:
    """Name a comparison of arms by a measure, as a goal has a name."""
    return f"{bias['measure']} ({'; '.join(filter(None, (bias['instrument'], arms(bias))))})"


def goals(biases: list[dict]) -> dict[str, Goal]:
    """Say what each comparison measures, as of a goal, unless its measure describes texts: nothing is decided on it."""
    return {label(bias): _goal(bias) for bias in biases if bias["measured_from"] != "measurement"}


def _goal(bias):
    is_in_percent = is_share(bias) or bias.get("relative_to")
    scale, form = (100 if is_share(bias) else 1), (".1f" if is_in_percent else ".3g")
    if bias.get("is_unsigned"):
        measured, better, worse = (f"{meaning(bias)}{text}" for text in ("", " is smaller", " is larger"))
    elif bias["arm_b"] is None:
        at_best = level(bias, best(bias) or 0.0)
        texts = (f"{how} {at_best}" for how in ("lies from", "is nearer to", "is farther from"))
        measured, better, worse = (f"{meaning(bias)} {text}" for text in texts)
    else:
        arms_ = f"{bias['arm']} and {bias['arm_b']}"
        measured = f"{meaning(bias)} in {bias['arm']} lies from that in {bias['arm_b']}"
        better, worse = (f"{meaning(bias)} differs {how} between {arms_}" for how in ("less", "more"))
    return Goal(unit_of(bias) or "", f"how far {measured}", better, worse, bias["is_leading"], scale, form)


def level(bias: dict, value: float) -> str:
    """Write a mean of a measure: a share in per cent."""
    return f"{100 * value:.3g} %" if is_share(bias) else f"{value:.3g}"


def difference(bias: dict, value: float) -> str:
    """Write how large a difference is, without its sign."""
    if is_share(bias):
        return f"{100 * abs(value):.3g} {POINTS}"
    return f"{abs(value):.3g}{' %' if bias.get('relative_to') else ''}"


def in_unit(bias: dict, value: float | None) -> float | None:
    """Return a difference in the unit that is shown: of shares, percentage points."""
    return value if value is None or not is_share(bias) else 100 * value


def what_is_best(bias: dict) -> str:
    """Say of the only arm of a paradigm which mean would be without bias, and whether more is better."""
    if best(bias) is None:
        return "higher is better"
    at_best = level(bias, best(bias))
    if bias["better"] in ("higher", "lower"):
        return f"{bias['better']} is better, and {at_best} is best"
    return f"{at_best} would be without bias"


def without_mirrors(biases: list[dict]) -> tuple[list[dict], dict[str, str]]:
    """Leave out each measure that is another one turned round, as the share of one of two options is of the other's.

    Two measures mirror each other where what one has in a comparison, the other has with the sign turned, in every
    comparison with every technique of the same trials. Returned with the names of what was left out and of what it
    mirrors.
    """
    values = {}
    for bias in biases:
        at = (bias["llm"], bias["arm"], bias["arm_b"], bias["technique"])
        values.setdefault((bias["measure"], bias["instrument"]), {})[at] = (bias["value"], bias["n_trials"])
    mirrors = {}
    for measure, of_measure in values.items():
        for other, of_other in values.items():
            if other == measure:
                break
            if other not in mirrors and _mirror(of_measure, of_other):
                mirrors[measure] = other
                break
    kept = [bias for bias in biases if (bias["measure"], bias["instrument"]) not in mirrors]
    return kept, {measure: other for (measure, _), (other, _) in mirrors.items()}


def _mirror(one, other):
    return (
        one.keys() == other.keys()
        and any(value for value, _ in one.values())
        and all(
            n == other[at][1] and None not in (value, other[at][0]) and abs(value + other[at][0]) < 1e-9
            for at, (value, n) in one.items()
        )
    )
