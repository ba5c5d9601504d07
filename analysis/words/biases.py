"""How large a bias is that is told from a measure: the mean of one arm above or below that of another."""

from itertools import groupby
from operator import itemgetter

from analysis.words import codes, measures
from analysis.words.codes import codes_of, listed

DESCRIBED = "Measures of texts describe answers, and nothing is decided on them"
BY_HOLM = (
    "p, by Holm: how probable a bias at least so large is by chance if there is none, made larger for all the "
    "comparisons of the measure that are tested at once."
)
NOT_A_DIFFERENCE = (
    "A gain is not the difference of two rows of the table of arms, in which opposite signs cancel. But the items of a "
    "vignette are averaged first: where their biases are opposite they cancel, so a technique that makes each of them "
    "smaller may gain nothing here."
)
UNSIGNED = (
    "It counts what differs, and the same question put twice may differ by chance: it tells techniques apart, and does "
    "not say how large a bias is."
)
ALL_UNSIGNED = (
    "These shares count what differs, and the same question put twice may differ by chance: they tell techniques "
    "apart, and do not say how large a bias is."
)
OF_EITHER_SIDE = (
    " The number lies below the answers without it in {below} of {n} items; a pull toward it makes this mean smaller "
    "there, and larger in the others."
)
MISSING = "Had every published trial been answered, it might be {least} to {most}."
SHOWN, UNSHOWN = "there is a bias", "unclear whether there is a bias"
SHOWN_SMALL, SMALL = "there is a bias, of less than {margin}", "no bias as large as {margin}"
BY_WHAT_CAME = " by the answers that came"
SURE = 0.05  # a p value below which a bias is said to be shown, and items to differ


def sentences(biases, mirrors, corrected, noun):
    """Say how large each bias is without a technique, the leading one first, and once of two that say the same.

    Parameters
    ----------
    biases : list of dict
        Rows of `inference.outcome_contrasts`, those of leading measures first, each with what its paradigm says of
        the measure and the `name` of its technique; without those that mirror another.
    mirrors : dict of str to str
        Measures that were left out, with what they mirror.
    corrected : list of dict
        The row on a share without what judges get wrong, if there is one.
    noun : str
        What those are called who answered.

    Yields
    ------
    str
    """
    leading = list(dict.fromkeys(bias["measure"] for bias in biases if bias["is_leading"]))
    for is_leading, of_kind in groupby(biases, key=itemgetter("is_leading")):
        if leading and not is_leading:
            leads, them = ("leads", "it") if len(leading) == 1 else ("lead", "them")
            yield f"{listed(leading)} {leads}: headlines speak of {them} alone. The other measures follow."
        for bias in of_kind:
            if bias["technique"] == codes.CONTROL:
                yield _sentence(bias, noun)
                if bias["measured_from"] == "judgement":
                    yield _corrected(corrected)
    for measure, other in mirrors.items():
        yield f"{measure} says the same as {other}: what it gains, the other loses."


def headline(biases, noun):
    """Say by the leading measure the clearest bias of a paradigm without a technique.

    Parameters
    ----------
    biases : list of dict
        As of `sentences`.
    noun : str

    Returns
    -------
    str
    """
    alone = [bias for bias in _leading(biases) if bias["technique"] == codes.CONTROL and bias["value"] is not None]
    if not alone:
        leading = biases[0]["leading_measures"]
        by = f" by {listed(leading, 'or')}" if leading else ""
        return f"No {noun} has answers without a technique that can be compared{by}."
    # of what is measured without a value to hold it against, no mean is a bias
    held = [bias for bias in alone if measures.is_compared_with_best(bias)]
    sure = [bias for bias in held if bias["low"] is not None]
    sentence = _sentence(max(sure or held or alone, key=_clearness), noun)
    if len(held) < 2 or not sure:
        return sentence
    n_shown = sum(map(_is_shown, sure))
    return f"{sentence} The data show a bias in {n_shown} of {len(held)} comparisons; this one is the clearest."


def headlines(evidences):
    """Say what `headline` says of several paradigms, with their names; of measures that are no bias in one sentence.

    Parameters
    ----------
    evidences : list of Evidence
        Those with biases.

    Returns
    -------
    list of str
    """
    told, levels = [], {}
    for evidence in evidences:
        alone = [bias for bias in _leading(evidence.biases) if bias["technique"] == codes.CONTROL]
        bias = alone[0] if len(alone) == 1 and alone[0]["value"] is not None else {}
        if bias.get("is_unsigned"):
            what = f"{measures.named(bias)}: without a technique {measures.meaning(bias)}"
            levels.setdefault(what, []).append(f"{measures.level(bias, bias['value'])} in {evidence.paradigm}")
        else:
            told.append(f"{evidence.paradigm}: {headline(evidence.biases, evidence.noun)}")
    return [*told, *(f"{what} is {listed(shares)}. {ALL_UNSIGNED}" for what, shares in levels.items())]


def _leading(biases):
    """Keep what is of leading measures, of an assumed design effect by the largest; all where none leads."""
    told = [bias for bias in biases if bias["is_leading"] or not bias["leading_measures"]]
    return measures.most_cautious(told, lambda bias: f"{bias['measure']} {bias['instrument']}")


def _clearness(bias):
    return abs(bias["value"]) / ((bias["high"] - bias["low"]) or 1 if bias["low"] is not None else 1)


def _size(bias):
    """Say in the words of the measure how large a bias is without a technique."""
    where = f"in {bias['arm']} than in {bias['arm_b']}"
    if bias.get("is_unsigned"):
        return f"{measures.meaning(bias)} is {measures.level(bias, bias['value'])}"
    if bias["arm_b"] is None:
        mean = measures.level(bias, bias["value"] + (bias["reference"] or 0.0))
        return f"{measures.meaning(bias)} is {mean}, where {measures.what_is_best(bias)}"
    if f"{abs(bias['value']):.3g}" == "0":
        return f"{measures.meaning(bias)} is the same in {bias['arm']} and in {bias['arm_b']}"
    side = "higher" if bias["value"] > 0 else "lower"
    return f"{measures.meaning(bias)} is {measures.difference(bias, bias['value'])} {side} {where}"


def _bounds(bias):
    """Write the interval of a difference, or of the mean of an only arm."""
    ends = [bias[end] for end in ("low", "high")]
    if bias["arm_b"] is None:
        return " to ".join(measures.level(bias, end + (bias["reference"] or 0.0)) for end in ends)
    return " to ".join(f"{measures.in_unit(bias, end):+.3g}" for end in ends)


def _sentence(bias, noun):
    if bias["value"] is None:
        where = "" if bias["arm_b"] is None else f" in {bias['arm']} and in {bias['arm_b']}"
        who = (bias["llm"]) if bias["llm"] else f"no {noun}"
        has = "has no answers" if bias["llm"] else "has answers"
        return f"{measures.named(bias)}: {who} {has} without a technique{where} that can be compared."
    statement = f"{measures.named(bias)}: without a technique {_size(bias)}"
    if bias.get("is_unsigned"):
        return f"{statement}. {UNSIGNED}"
    if bias["low"] is None:
        return f"{statement}. How sure that is cannot be said: {_unsure(bias, noun)}."
    of_what = " of the difference" if bias["arm_b"] is not None else ""
    statement = f"{statement} (95 % interval{of_what} {_bounds(bias)})"
    if bias["arm_b"] is None:
        return f"{statement}, for {_like(bias, noun)}.{_of_items(bias)}"
    shows = SHOWN if _is_shown(bias) else UNSHOWN
    if _is_small(bias):
        shows = (SHOWN_SMALL if _is_shown(bias) else SMALL).format(margin=measures.difference(bias, bias["margin"]))
        shows += BY_WHAT_CAME * (max(-(bias.get("value_least") or 0), bias.get("value_most") or 0) >= bias["margin"])
    besides = f"{_by_chance(bias)}{_of_missing(bias)}{_of_items(bias)}{_of_sides(bias)}"
    return f"{statement}: {shows}, for {_like(bias, noun)}.{besides}"


def _holds_none(bias):
    return bias["low"] <= 0 <= bias["high"]


def _is_shown(bias):
    """Whether the data show a bias, beside all the comparisons of its measure that are tested at once."""
    return not _holds_none(bias) and (bias["p_holm"] is None or bias["p_holm"] < SURE)


def _is_small(bias):
    """Whether a bias is surely smaller than the margin, also where items differ and where a number pulls either way."""
    is_one = not (_of_items(bias) or _of_sides(bias))
    return bool(bias.get("margin")) and is_one and max(-bias["low"], bias["high"]) < bias["margin"]


def _by_chance(bias):
    """Say of an interval that leaves 0 out why that shows no bias."""
    if _is_shown(bias) or _holds_none(bias):
        return ""
    return (
        f" Its interval leaves 0 out, but of {bias['n_tests']} comparisons that are tested at once one may do so by "
        f"chance (p, by Holm, is {bias['p_holm']:.2g})."
    )


def _of_missing(bias):
    """Say what a bias might be with the answers that are missing, where its interval decides and does not say so.

    The bounds are those of Manski (1990), each answer that is missing at one end of what can be answered.
    """
    least, most = bias.get("value_least"), bias.get("value_most")
    is_open = _holds_none(bias) and not _is_small(bias)
    if least is None or is_open or (bias["low"] <= least and most <= bias["high"]):
        return ""
    ends = {"least": least, "most": most}
    unit = f" {codes.POINTS}" if measures.is_share(bias) else " %" if bias.get("relative_to") else ""
    said = {end: f"{measures.in_unit(bias, value):+.3g}" for end, value in ends.items()}
    return f" {MISSING.format(least=said['least'], most=said['most'] + unit)}"


def _corrected(rows):
    """Say how large a share that rests on judges is without their errors, or that these are in it."""
    if not rows:
        return "What judges get wrong is in this share: it is not known well enough how often they err to take it off."
    (row,) = rows
    bounds = "" if row["low"] is None else f" (95 % interval {100 * row['low']:.3g} % to {100 * row['high']:.3g} %)"
    share = f"{100 * row['phi_corrected']:.3g} %{bounds}"
    return f"Without what judges get wrong, this share is {share}; gains and decisions are of shares without it."


def _of_items(bias):
    """Say that items differ in a bias, of which the mean over them says nothing."""
    if bias["p_items_alike"] is None or bias["p_items_alike"] >= SURE:
        return ""
    cancels = ", so opposite ones may cancel" if _holds_none(bias) else ""
    return f" Items differ in it (standard deviation {measures.difference(bias, bias['sd_of_items'])}){cancels}."


def _of_sides(bias):
    """Say of a number that lies below the answers on some items and above on others that it pulls either way."""
    n, below = (bias.get(name) or 0 for name in ("n_anchors", "n_anchors_below"))
    return OF_EITHER_SIDE.format(below=below, n=n) if 0 < below < n else ""


def _like(bias, noun):
    """Say of whom an interval speaks."""
    if bias["llm"]:
        return f"{bias['llm']} and items like the {bias['n_items']} tested"
    return f"{noun}s and items like these ({bias['n_llms']} {noun}s, {bias['n_items']} items)"


def _unsure(bias, noun):
    """Say why the mean over LLMs has no interval."""
    n_llms = bias["n_llms"]
    return {
        "too_few_llms": f"only {n_llms} {noun}{' was' if n_llms == 1 else 's were'} tested (five are needed)",
        "one_item": "only one item was tested in an arm",
        "zero_variance": f"the answers of all {noun}s on all items are alike",
    }[codes_of(bias)[0]]
