"""`inference.transfer`: does what a technique gains in one place foretell what it gains in another."""

from itertools import combinations

import numpy as np

from analysis.counts import study_without_version
from analysis.engine.decisions import pairs_of
from analysis.engine.measures import PLACE
from analysis.engine.vendors import vendor_means
from analysis.methods.attenuation import Moments, disattenuated_correlation, moments_within
from analysis.methods.small_samples import CONFIDENCE, FEWEST_LLMS, FEWEST_VENDORS
from analysis.tables import declared, first_reason, reasons

COLUMNS = declared("transfer")
FEWEST_TECHNIQUES = 3  # the order of two is no correlation
SIMULATED = "sim/"  # how the names of LLMs begin that nobody asked, and no others


class Gained:
    """What the ranked techniques of a question gain on their controls in each LLM.

    Attributes
    ----------
    question : Question
    llms, techniques : list of str
    values : numpy.ndarray, shape (n LLMs, n techniques)
        NaN where an LLM has no gain, or one whose noise is not known.
    noise : numpy.ndarray, shape (n LLMs, n techniques, n techniques)
        Covariances of their errors.
    """

    def __init__(self, question, ranked, controls):
        self.question, basis = question, question.basis
        pairs = (pair for pair in pairs_of(question, ranked, controls) if pair.kind == "control" and pair.control)
        by_technique = {pair.technique: basis.losses.compared(basis.goal, *pair[:2]) for pair in pairs}
        self.techniques = [technique for technique, of in by_technique.items() if of.llms]
        gains = [by_technique[technique] for technique in self.techniques]
        self.llms = sorted({llm for of in gains for llm in of.llms})
        places = [[self.llms.index(llm) for llm in of.llms] for of in gains]
        self.values = np.full((len(self.llms), len(gains)), np.nan)
        self.noise = np.zeros((*self.values.shape, len(gains)))
        for k, (of, rows) in enumerate(zip(gains, places, strict=True)):
            self.values[rows, k] = np.where(of.has_noise(), of.values, np.nan)
            for other, one in enumerate(gains):
                self.noise[rows, k, other] = of.covariances(one)

    def of(self, llm, techniques):
        """Return the gains of an LLM, and the covariances of their errors."""
        row, columns = self.llms.index(llm), [self.techniques.index(name) for name in techniques]
        return self.values[row, columns], self.noise[row][np.ix_(columns, columns)]

    def known(self, llm):
        """Return the techniques of which an LLM has a gain."""
        if llm not in self.llms:
            return []
        return [
            name
            for name, value in zip(self.techniques, self.values[self.llms.index(llm)], strict=True)
            if value == value
        ]


def transfer(questions, ranked, controls):
    """Correlate what techniques gain in every two places that ask for the same goal.

    Places are the domains of anchoring, or of other paradigms that name them, and else the contrasts of paradigms, of
    one study or of two; what is of the same trials is no other place, what two instruments measure is not compared,
    and LLMs that are simulated are not put together with others. Within each LLM the gains of the techniques that it
    was asked with in both places are compared, so that neither what LLMs gain on average nor the control that
    techniques share counts.

    Parameters
    ----------
    questions : iterable of Question
    ranked, controls
        As of `analysis.engine.decisions.pairs_of`.

    Yields
    ------
    dict
        Rows of `COLUMNS`, where an LLM and a technique are in both places.
    """
    by_goal = {}
    for question in questions:
        gained = Gained(question, ranked, controls)
        if gained.llms:
            by_goal.setdefault(question.keys["goal"], []).append(gained)
    for of_goal in by_goal.values():
        for one, other in combinations(of_goal, 2):
            instruments = {place.question.keys.get("instrument") for place in (one, other)} - {None}
            if _trials_of(one) != _trials_of(other) and len(instruments) < 2:
                yield from _row(one, other)


def _trials_of(gained):
    keys = gained.question.keys
    return study_without_version(keys["study"]), keys["paradigm"], keys["domain"]


def _row(one, other):
    """Yield the row of two places that have an LLM and a technique in common."""
    shared = {llm: [name for name in one.known(llm) if name in other.known(llm)] for llm in one.llms}
    shared = {llm: techniques for llm, techniques in shared.items() if techniques}
    is_simulated = all(llm.startswith(SIMULATED) for llm in shared)
    shared = {llm: names for llm, names in shared.items() if llm.startswith(SIMULATED) == is_simulated}
    if not shared:
        return
    row = {name: one.question.keys.get(name) for name in (*PLACE, "goal")}
    row |= {f"other_{name}": other.question.keys.get(name) for name in PLACE}
    compared = {llm: names for llm, names in shared.items() if len(names) > 1}
    vendors = [one.question.basis.losses.vendors.get(llm, llm) for llm in compared]
    n_techniques = len({name for names in shared.values() for name in names})
    row |= {
        "is_primary": one.question.leads and other.question.leads,
        "is_simulated": is_simulated,
        "n_llms": len(compared),
        "n_vendors": len(set(vendors)),
        "n_techniques": n_techniques,
        "n_pairs": sum(map(len, compared.values())),
        "confidence": CONFIDENCE,
        "method": "t_of_llms",
    }
    reason = first_reason(too_few_techniques=n_techniques < FEWEST_TECHNIQUES, too_few_llms=len(compared) < FEWEST_LLMS)
    if reason:
        yield row | {"reason": reason}
        return
    both = [[place.of(llm, names) for place in (one, other)] for llm, names in compared.items()]
    values, noise = ([np.stack([of[i] for of in places], axis=-1) for places in both] for i in (0, 1))
    with_noise = _stacked(moments_within(of, np.zeros((len(of), *of.shape))) for of in values)
    moments = _stacked(map(moments_within, values, noise))
    r, low, high = disattenuated_correlation(moments)
    row |= {"r": _within_1(r), "r_with_noise": _within_1(disattenuated_correlation(with_noise)[0])}
    row |= {"sd": _sd(moments.first), "other_sd": _sd(moments.second)}
    reason = _why_no_bounds(r, low, high)
    if not reason:
        row |= {"low": _within_1(low), "high": _within_1(high)}
    few_vendors = row["n_vendors"] < FEWEST_VENDORS
    if not few_vendors:
        bounds = disattenuated_correlation(moments.by(lambda of: vendor_means(of, vendors)))
        if not (of_vendors := _why_no_bounds(*bounds)):
            row |= dict(zip(("vendors_low", "vendors_high"), map(_within_1, bounds[1:]), strict=True))
        reason = reason or of_vendors
    yield row | {"reason": reasons(reason, "too_few_vendors" if few_vendors else None)}


def _why_no_bounds(r, low, high):
    return first_reason(
        within_noise=np.isnan(r),
        spread_unsure=np.isnan(low),
        zero_variance=np.isclose(low, high),
        beyond_1=low > 1 or high < -1,
    )


def _within_1(value):
    return np.clip(value, -1.0, 1.0)


def _stacked(moments):
    return Moments(*map(np.array, zip(*(vars(of).values() for of in moments), strict=True)))


def _sd(variances):
    return np.sqrt(np.maximum(variances.mean(), 0.0))
