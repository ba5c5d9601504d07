"""Whether what a technique gains in one place foretells what it gains in another, in words."""

import math

from analysis.engine.measures import PLACE
from analysis.words.codes import codes_of, listed
from analysis.words.measures import DESIGN_EFFECT

CARRIES_OVER = "A technique that helps more here also helps more in {place}: {found}."
TURNS_ROUND = "A technique that helps more here helps less in {place}: {found}."
UNCLEAR = "Whether a technique that helps more here also helps more in {place} is unclear: {found}."
CANNOT_BE_TOLD = "Whether a gain {which} carries over {whither} cannot be told: {why}."
FOUND = (
    "over {n_techniques} techniques within {n_llms} {noun}s, their gains correlate at {r}, without noise "
    "(95 % interval {low} to {high}{few})"
)
FEW_VENDORS = "; of {n_vendors} vendors alone"
WHY_NOT = {
    "too_few_llms": "fewer than five {noun}s were asked in both with the same techniques",
    "too_few_techniques": "fewer than three techniques were asked in both",
    "within_noise": "in one of them, the gains of techniques differ by no more than noise",
    "spread_unsure": "so few {noun}s do not show how far the gains of techniques differ in {noun}s like these",
    "zero_variance": "all {noun}s vary alike",
    "beyond_1": "gains agree more than the noise of the answers allows",
}
KEY = ("goal", *PLACE, *(f"other_{name}" for name in PLACE))  # of a row of `inference.transfer`
TITLES = {
    "all": "What helps more in one place helps more in the other",
    "some": "In some places, but not in all, what helps more in one helps more in the other",
    "none": "No gain is shown to carry over from one place to another",
}


def place(row, prefix=""):
    """Name a place of a row of `inference.transfer`, the other one with the prefix `other_`."""
    name, details = _name_and_details(row, prefix)
    return f"{name} ({details})" if details else name


def _name_and_details(row, prefix=""):
    """Return what a place is called, and of which study and instrument it is where that is not plain."""
    name, instrument = row[f"{prefix}domain"] or row[f"{prefix}paradigm"], row[f"{prefix}instrument"]
    details = [None if row["study"] == row["other_study"] else row[f"{prefix}study"]]
    details += [] if DESIGN_EFFECT.fullmatch(instrument or "") else [instrument]
    return tuple(text.replace("_", " ") for text in (name, ", ".join(filter(None, details))))


def cautious(rows):
    """Of rows that differ in an assumed design effect alone, keep the one with the widest interval, or without any.

    A larger effect takes off more noise, so that gains may seem to agree more than they do.
    """
    kept = {}
    for row in rows:
        of = DESIGN_EFFECT.sub("", str([row.get(name) for name in KEY]))
        kept[of] = max(
            kept.get(of, row), row, key=lambda one: one["high"] - one["low"] if has_bounds(one) else math.inf
        )
    return list(kept.values())


def has_bounds(row):
    """Say whether the correlation of a row has an interval."""
    return row["low"] is not None


def title(rows):
    """Return what rows that have bounds come to, as a title."""
    are_above_0 = [row["low"] > 0 for row in rows]
    return TITLES["all" if all(are_above_0) else "some" if any(are_above_0) else "none"]


def elsewhere(rows):
    """Say what the gains in one place foretell of those in others.

    Parameters
    ----------
    rows : list of dict
        Rows of `inference.transfer` that begin with this place.

    Yields
    ------
    str
    """
    rows = cautious(rows)
    yield from (_found(row) for row in rows if has_bounds(row))
    for why, places in _untold(rows).items():
        named = dict.fromkeys(_name_and_details(row, "other_") for row in places)
        yield CANNOT_BE_TOLD.format(which="here", whither=f"to {_grouped(named)}", why=why)


def between(rows):
    """Say of which places nothing can be told, by the reason.

    Parameters
    ----------
    rows : list of dict
        Rows of `inference.transfer`.

    Yields
    ------
    str
    """
    for why, untold in _untold(rows).items():
        pairs = dict.fromkeys((_name_and_details(row), _name_and_details(row, "other_")) for row in untold)
        named = sorted({name for pair in pairs for name in pair})
        if len(pairs) == len(named) * (len(named) - 1) // 2:  # no two of them can be compared
            whither = f"between {'any two of ' if len(named) > 2 else ''}{_grouped(named)}"
        else:
            whither = "; ".join(
                f"between {_grouped(ones, 'or')} and {_grouped(others, 'or')}" for ones, others in _sides(pairs)
            )
        yield CANNOT_BE_TOLD.format(which="of a technique", whither=whither, why=why)


def _grouped(places, last="and"):
    """List places, those that share details together."""
    by_details = {}
    for name, details in places:
        by_details.setdefault(details, []).append(name)
    groups = [
        f"{listed(names, last)} ({'all ' * (len(names) > 1)}{details})" if details else listed(names, last)
        for details, names in by_details.items()
    ]
    return "; ".join(groups)


def _sides(pairs):
    """Put together the places that stand in pairs with the same others."""
    others, ones = {}, {}
    for one, other in pairs:
        others.setdefault(one, []).append(other)
    for one, of_one in others.items():
        ones.setdefault(tuple(of_one), []).append(one)
    return [(of_one, beside) for beside, of_one in ones.items()]


def _found(row):
    template = CARRIES_OVER if row["low"] > 0 else TURNS_ROUND if row["high"] < 0 else UNCLEAR
    few = FEW_VENDORS.format(**row) if "too_few_vendors" in codes_of(row) else ""
    numbers = {name: f"{row[name]:.2f}".replace("-", "\N{MINUS SIGN}") for name in ("r", "low", "high")}
    return template.format(place=place(row, "other_"), found=FOUND.format(**row | numbers, noun=_noun(row), few=few))


def _untold(rows):
    by_reason = {}
    for row in rows:
        if not has_bounds(row):
            by_reason.setdefault(WHY_NOT[codes_of(row)[0]].format(noun=_noun(row)), []).append(row)
    return by_reason


def _noun(row):
    return "respondent" if row["is_simulated"] else "LLM"
