"""The ledger's derived claims: numbers that follow from other claims, and what rounding leaves open about them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import product

import numpy as np
from scipy import special

from analysis.tables import declared

COLUMNS = declared("int_claims_derived")
LOOKED_UP = tuple(name for name in COLUMNS if name not in ("recomputed_low", "recomputed_high"))
VERSIONS = ("cited", "newest")

# what is counted one by one: printed without decimals it is exact
COUNTED_UNITS = {
    "LLMs", "answers", "baselines", "cells", "choices", "comparisons", "degrees of freedom", "domains", "examples",
    "judges", "people", "prosecutors", "providers", "questions", "resamples", "sign", "stars", "techniques",
    "temperatures", "trials",
}  # fmt: skip
SAME = 1e-9  # values closer than this share a place
PRIMACY_THRESHOLD = 0.05  # document C, equation 2: how much nearer the beginning a summary is if it has the bias
UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True)
class Derivation:
    """A function of a list of numbers, and of a list of (low, high) the range that its values have."""

    value: Callable
    bounds: Callable
    n_inputs: int | None = None  # None: one or more
    in_groups_of: int = 1  # where there may be more, how many belong together
    takes_counts: bool = False


def derive(derivation, inputs):
    """Return what follows from numbers.

    Parameters
    ----------
    derivation : str
        A key of `DERIVATIONS`.
    inputs : sequence of float
        In the order in which the claim names them.

    Returns
    -------
    float
        NaN where it is not defined, such as the percent change of 0.
    """
    value = float(DERIVATIONS[derivation].value(list(inputs)))
    return value if math.isfinite(value) else math.nan


def derive_range(derivation, intervals):
    """Return the range that a derived number has while each input moves within its interval, whatever the others do.

    Parameters
    ----------
    derivation : str
        A key of `DERIVATIONS`.
    intervals : sequence of (float, float)
        Lowest and highest value of each input, in the order in which the claim names them.

    Returns
    -------
    low, high : float
        The smallest range: both are reached. NaN where the number is not defined everywhere, such as a percent change
        of what may be 0.

    Notes
    -----
    All but the range and the distance from 100 rise or fall with each input, so that corners bound them. Of chi squared
    this holds for its signed root: with ad > bc it rises with a and d and falls with b and c. Where its counts follow
    from printed shares, they are the whole numbers that the shares could have been rounded from.

    References
    ----------
    Moore, Kearfott & Cloud (2009), Introduction to Interval Analysis, section 5.3 (the range of a monotone function).
    """
    low, high = DERIVATIONS[derivation].bounds(list(intervals))
    return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else UNKNOWN


def printed_interval(published, decimals, *, is_exact=False):
    """Return all values that are printed so: the number give or take half a digit, or itself where it is exact."""
    half = 0.0 if is_exact else 0.5 * 10.0**-decimals
    return published - half, published + half


def derived_claims(claims, looked_up):
    """Return every claim with its recomputed and its recommended value, derived ones after those they derive from.

    A claim that was looked up keeps that value. Else the recomputed value is derived from those of its inputs, rounded
    to `input_decimals` where the authors did so; with `inputs_are` printed, from what is printed of them, and its range
    from all that could have been rounded to that. The recommended value is derived where each input has one and the
    claim names no `recommended_quantity` of its own; its bounds where each input has an interval, as if each could be
    off whatever the others are, which makes them wide rather than narrow. A claim with `recommended_inputs` is
    recommended what is derived from what is printed of these, and has no interval.

    Parameters
    ----------
    claims : iterable of dict
        Rows of `published_claims`; None is null.
    looked_up : iterable of dict
        As of `analysis.claims.quantities.looked_up`.

    Returns
    -------
    list of dict
        Rows of `COLUMNS`: each claim and part, once per version.

    Raises
    ------
    DerivationError
        If a claim derives from no claim that there is, from itself, in no way that is known, or from a wrong number of
        inputs, or from a printed bound such as p < .05. The message names it.
    """
    claims = {_key(claim): claim for claim in claims}
    lookups = {(_key(row), row["of_version"]): row for row in looked_up}
    order = in_order(claims)
    rows = {}
    for version in VERSIONS:
        for key in order:
            claim = claims[key]
            row = dict.fromkeys(COLUMNS) | {name: lookups.get((key, version), {}).get(name) for name in LOOKED_UP}
            row |= {"claim_id": claim["claim_id"], "part": claim["part"], "of_version": version}
            if claim["derivation"]:
                inputs = _inputs(claim)
                _recompute(row, claim, [claims[name] for name in inputs], [rows[name, version] for name in inputs])
                _recommend(row, claim, [claims[name] for name in inputs], [rows[name, version] for name in inputs])
                _recommend_from_print(row, claim, [claims[name] for name in _inputs(claim, "recommended_inputs")])
            rows[key, version] = row
    return list(rows.values())


def _recompute(row, claim, printed, inputs):
    if row["recomputed_value"] is not None:
        return
    if claim["inputs_are"] == "printed":
        counts = DERIVATIONS[claim["derivation"]].takes_counts
        intervals = []
        for operand in printed:
            is_exact = operand["decimals"] == 0 and (counts or operand["unit"] in COUNTED_UNITS)
            intervals.append(printed_interval(operand["published_value"], operand["decimals"], is_exact=is_exact))
        low, high = derive_range(claim["derivation"], intervals)
        if not math.isnan(low):
            value = _known(claim["derivation"], [operand["published_value"] for operand in printed])
            row |= {"recomputed_value": value, "recomputed_low": low, "recomputed_high": high}
    else:
        values = [operand["recomputed_value"] for operand in inputs]
        row["recomputed_value"] = _known(claim["derivation"], values, claim["input_decimals"])


def _recommend(row, claim, printed, inputs):
    if row["recommended_value"] is not None or claim["recommended_quantity"]:
        return
    value = _known(claim["derivation"], [operand["recommended_value"] for operand in inputs])
    if value is None:
        return
    row["recommended_value"] = value
    llms = {operand["llm"] for operand in printed}
    fewest = min((operand["n_llms"] for operand in inputs if operand["n_llms"] is not None), default=None)
    row["n_llms"] = fewest if None in llms or fewest is None else len(llms)  # inputs of one LLM each are of them all
    intervals = [(operand["recommended_low"], operand["recommended_high"]) for operand in inputs]
    if not any(bound is None for interval in intervals for bound in interval):
        low, high = derive_range(claim["derivation"], intervals)
        if not math.isnan(low):
            row |= {"recommended_low": low, "recommended_high": high}


def _recommend_from_print(row, claim, printed):
    if not printed:
        return
    row["recommended_value"] = _known(claim["derivation"], [operand["published_value"] for operand in printed])
    row["n_llms"] = len({operand["llm"] for operand in printed if operand["llm"]}) or None


def _known(derivation, values, decimals=None):
    """Derive where all inputs are known; None where one is not, or where nothing is defined."""
    if any(value is None for value in values):
        return None
    value = derive(derivation, values if decimals is None else [_rounded(value, decimals) for value in values])
    return None if math.isnan(value) else value


def _rounded(value, decimals):
    """Round half away from zero, as SQL does and as papers do."""
    scale = 10.0**decimals
    return math.copysign(math.floor(abs(value) * scale + 0.5), value) / scale


def _key(row):
    """Name a claim as others name it among their inputs (macro `claim_key`)."""
    return row["claim_id"] if row["part"] is None else f"{row['claim_id']}/{row['part']}"


def _inputs(claim, column="inputs"):
    return (claim[column] or "").split()


class DerivationError(ValueError):
    """What is wrong with how a claim, whose key is `claim`, derives from others."""

    def __init__(self, claim, why):
        super().__init__(f"The claim {claim} {why}.")
        self.claim, self.why = claim, why


def in_order(claims):
    """Return the keys of claims, each after those it derives from.

    Parameters
    ----------
    claims : dict of str to dict
        Rows of `published_claims` by their key.

    Returns
    -------
    list of str

    Raises
    ------
    DerivationError
        As `derived_claims`.
    """
    graph = {key: _inputs(claim) if claim["derivation"] else [] for key, claim in claims.items()}
    for key, inputs in graph.items():
        if claims[key]["derivation"]:
            _check(key, inputs, claims)
            if recommended := _inputs(claims[key], "recommended_inputs"):
                _check(key, recommended, claims)
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        first, *others, _ = reversed(error.args[1])
        raise DerivationError(first, " by way of ".join(["derives from itself", *others])) from error


def _check(key, inputs, claims):
    """Raise where a claim cannot be derived from these inputs."""
    claim = claims[key]
    name = claim["derivation"]
    if name not in DERIVATIONS:
        raise DerivationError(key, f"has the derivation {name}, which is none of {', '.join(DERIVATIONS)}")
    wanted, together = DERIVATIONS[name].n_inputs, DERIVATIONS[name].in_groups_of
    if len(inputs) != wanted if wanted else not inputs or len(inputs) % together:
        takes = wanted or ("one or more" if together == 1 else f"groups of {together}")
        raise DerivationError(key, f"names {len(inputs)} inputs; {name} takes {takes}")
    for other in inputs:
        if other not in claims:
            raise DerivationError(key, f"derives from {other}, which is no claim")
        if claim["inputs_are"] == "printed" and claims[other]["comparison"] != "=":
            raise DerivationError(key, f"derives from {other}, of which only a bound is printed, no number")


def _monotone(value, *directions):
    """Return the bounds of a function that rises (1) or falls (-1) with each input; one direction is that of all."""

    def bounds(intervals):
        signs = directions if len(directions) > 1 else directions * len(intervals)
        pairs = [interval[::sign] for interval, sign in zip(intervals, signs, strict=True)]
        return value([low for low, _ in pairs]), value([high for _, high in pairs])

    return bounds


def _corners(value):
    """Return the bounds of a function of few inputs that turns at 0 alone; unknown where it is not always defined."""

    def bounds(intervals):
        ends = [(low, high, 0.0) if low < 0 < high else (low, high) for low, high in intervals]
        values = [value(corner) for corner in product(*ends)]
        return UNKNOWN if np.isnan(values).any() else (min(values), max(values))

    return bounds


def _mean(x):
    return sum(x) / len(x)


def _difference(x):
    return x[0] - x[1]


def _percent_change(x):
    return 100 * (x[0] - x[1]) / abs(x[1]) if x[1] else math.nan


def _range_bounds(intervals):
    lows, highs = zip(*intervals, strict=True)
    apart = [high - low for i, high in enumerate(highs) for j, low in enumerate(lows) if i != j]
    return max(0.0, max(lows) - min(highs)), max(0.0, *apart, 0.0)


def _mean_distance_from_100(x):
    return _mean([abs(value - 100) for value in x])


def _magnitudes(low, high):
    """Return the range of |x| where x is from low to high."""
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _mean_distance_bounds(intervals):
    distances = [_magnitudes(low - 100, high - 100) for low, high in intervals]
    return _mean([low for low, _ in distances]), _mean([high for _, high in distances])


def _count_below(x):
    return sum(value < x[0] - SAME for value in x[1:])


def _count_below_bounds(intervals):
    (low, high), *others = intervals
    return sum(other[1] < low - SAME for other in others), sum(other[0] < high - SAME for other in others)


def _count_first_larger(size):
    """Return the derivation of how often, of two groups of so many numbers each, the first has the larger mean."""

    def pairs(x):
        means = [_mean(x[start : start + size]) for start in range(0, len(x), size)]
        return zip(means[::2], means[1::2], strict=True)

    def value(x):
        return sum(first > second + SAME for first, second in pairs(x))

    def bounds(intervals):
        lows, highs = zip(*intervals, strict=True)
        surely = sum(low > high + SAME for (low, _), (_, high) in zip(pairs(lows), pairs(highs), strict=True))
        possibly = sum(high > low + SAME for (_, low), (high, _) in zip(pairs(lows), pairs(highs), strict=True))
        return surely, possibly

    return Derivation(value, bounds, in_groups_of=2 * size)


def _most_with_primacy(x):
    """Return the largest share, in percent, of differences above the threshold that their mean and t of 0 allow.

    By Cantelli's inequality: a share p of differences that lie so far above their mean alone makes up a variance.
    """
    beginning, middle, t, n = x
    mean = beginning - middle
    if t <= 0 or n <= 0 or not -SAME < mean < PRIMACY_THRESHOLD:
        return math.nan
    variance = n * (mean / t) ** 2
    return 100 * variance / (variance + (PRIMACY_THRESHOLD - mean) ** 2)


def _p_of_t(x):
    t, df = x
    return 2 * special.stdtr(df, -abs(t)) if df > 0 else math.nan


def _p_of_pairs(x):
    return _p_of_t((x[0], x[1] - 1))


def _p_of_chi_squared(statistic):
    """Return the p of a chi squared with one degree of freedom."""
    return special.chdtrc(1, statistic)


def _signed_root(counts, *, correction=0.0):
    """Return the root of chi squared of a 2x2 table, above 0 where ad > bc; NaN where a row or column is empty."""
    a, b, c, d = (max(count, 0.0) for count in counts)
    n = a + b + c + d
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if not margins:
        return math.nan
    off = a * d - b * c
    return math.copysign(math.sqrt(n / margins) * max(abs(off) - correction * n, 0.0), off)


def _of_table(correction, transform=lambda statistic: statistic):
    """Return the derivation of a number that rises or falls with chi squared, with its inputs a, b, c and d."""

    def root(counts):
        return _signed_root(counts, correction=correction)

    def bounds(intervals):
        ends = _monotone(root, 1, -1, -1, 1)(intervals)
        if np.isnan(ends).any():
            return UNKNOWN
        return sorted(transform(magnitude**2) for magnitude in _magnitudes(*ends))

    return Derivation(lambda counts: transform(root(counts) ** 2), bounds, n_inputs=4, takes_counts=True)


def _of_shares(table):
    """Return the derivation of a number of a 2x2 table from two shares in percent, people, and choices of each."""

    def counts(shares, total):
        first, second = (round(share / 100 * total) for share in shares)
        return first, total - first, second, total - second

    def value(x):
        *shares, people, choices = x
        return table.value(counts(shares, people * choices))

    def bounds(intervals):
        first, second, *sizes = intervals
        if any(low != high for low, high in sizes):
            return UNKNOWN
        total = math.prod(low for low, _ in sizes)
        least, most = (counts(shares, total) for shares in zip(first, second, strict=True))
        return table.bounds([tuple(sorted(pair)) for pair in zip(least, most, strict=True)])

    return Derivation(value, bounds, n_inputs=4)


def _rising(value, *directions, **fields):
    return Derivation(value, _monotone(value, *(directions or (1,))), **fields)


DERIVATIONS = {
    "sum": _rising(sum),
    "mean": _rising(_mean),
    "difference": _rising(_difference, 1, -1, n_inputs=2),
    "percent_change": Derivation(_percent_change, _corners(_percent_change), n_inputs=2),
    "range": Derivation(lambda x: max(x) - min(x), _range_bounds),
    "mean_distance_from_100": Derivation(_mean_distance_from_100, _mean_distance_bounds),
    "rank": Derivation(lambda x: 1 + _count_below(x), lambda x: [1 + end for end in _count_below_bounds(x)]),
    "count_below": Derivation(_count_below, _count_below_bounds),
    "complement": _rising(lambda x: 1 - x[0], -1, n_inputs=1),
    "complement_percent": _rising(lambda x: 100 - _mean(x), -1),
    "minimum": _rising(min),
    "maximum": _rising(max),
    "count": _rising(len),
    "count_of_larger": _count_first_larger(1),
    "count_of_larger_means_of_three": _count_first_larger(3),
    "most_percent_with_primacy": _rising(_most_with_primacy, 1, -1, -1, 1, n_inputs=4),
    "p_of_t": Derivation(_p_of_t, _corners(_p_of_t), n_inputs=2),
    "p_of_paired_t": Derivation(_p_of_pairs, _corners(_p_of_pairs), n_inputs=2),
    "chi_squared": _of_table(0.0),
    "chi_squared_yates": _of_table(0.5),
    "p_of_chi_squared": _of_table(0.0, _p_of_chi_squared),
    "p_of_chi_squared_yates": _of_table(0.5, _p_of_chi_squared),
    "chi_squared_yates_of_shares": _of_shares(_of_table(0.5)),
    "p_of_chi_squared_yates_of_shares": _of_shares(_of_table(0.5, _p_of_chi_squared)),
    "df_of_two_groups": _rising(lambda x: x[0] - 2, n_inputs=1, takes_counts=True),
}
