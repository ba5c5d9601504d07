"""`inference.decisions`: what to do about a technique, over LLMs and for each of them, and how sure that is."""

from functools import partial

import numpy as np

from analysis.counts import CONTROL, stream
from analysis.engine.comparisons import compared, comparisons
from analysis.engine.guards import ALONE, HANGS, stood
from analysis.engine.level import CODE as SHRINKS
from analysis.engine.level import gap_shrinks_with_level
from analysis.engine.places import Model
from analysis.engine.questions import READING
from analysis.engine.rule import (
    ZERO,
    decide,
    decide_over_vendors,
    in_points,
    one_sided,
    t_bounds,
    with_bounds,
    within_reach,
)
from analysis.methods.contrasts import sign_flip_p
from analysis.methods.small_samples import CONFIDENCE, FEWEST_VENDORS
from analysis.tables import declared, reasons

COLUMNS = declared("decisions")
PART = "decisions"
LLMS_DIFFER = "llms_differ"
WITHOUT_SUSPECTS = "without_suspects"  # the row set without what the gate doubts
OVER_VENDORS, OF_AN_LLM = "t_over_vendors", "t_of_trials"  # methods
# among techniques of which there is one, it is the best and the worst, which says nothing
OF_PLACES = ("p_best", "p_worst", "rank_low", "rank_high")


def decisions(question, pairs, *, n_draws, seed):
    """Decide on each comparison of a question, over its LLMs and for each of them.

    An LLM's gain, the mean square of the control less that of the technique, is one observation. The decision about
    other LLMs is read off Student's t interval of the means of vendors, wide enough for all rows of the question that
    are decided (Bonferroni), those against a placebo too; where items are a sample as well, off one over vendors and
    items if that is wider. Each LLM is decided on by the bounds of its own trials, wide enough for all LLMs and rows
    together. How probable a place is comes from a hierarchical model (`analysis.engine.predictions`).

    Parameters
    ----------
    question : Question
    pairs : list of Comparison
        As of `pairs_of`.
    n_draws, seed : int

    Yields
    ------
    dict
        Rows of `COLUMNS`, as intervals decide (`analysis.engine.verdicts` says what that may be called), and of
        `analysis.engine.places.PREDICTIONS`, with the table's name as `part`. A row that comes as `withheld` has lost a
        decision that could not stand.

    References
    ----------
    Dunn (1961), Multiple comparisons among means, JASA 56(293), 52-64.
    """
    basis, keys = question.basis, question.keys | {"seed": seed, "n_draws": n_draws}
    gains, family = compared(basis, pairs)
    model = Model(gains, partial(stream, seed, keys["study"], *question.stream), n_draws)
    is_alone = sum(pair.kind == "control" for pair in pairs) == 1
    turned = [
        (code, _by_llm(other, pairs)) for specification, other in question.others() if (code := _code_of(specification))
    ]
    for pair in pairs:
        of_pair = keys | {
            "part": PART, "technique": pair.technique, "control": pair.control, "comparison": pair.kind,
            "confidence": CONFIDENCE, "margin": basis.margin,
        }  # fmt: skip
        for row in _rows_of(pair, gains.get(pair), basis, family):
            codes = [row.pop("codes")]
            row |= {"leads": question.leads, "n_cases": _n_cases(pair, gains.get(pair), basis)}
            if row["llm"] is None:
                row |= _over_vendors(gains[pair], seed) if row["n_llms"] else {}
                row["is_primary"] = question.leads and pair.kind == "control" and row["n_llms"] > 0
                if row["n_llms"] and pair.kind == "control":
                    row |= model.places(pair)
            codes += dict.fromkeys(code for code, decided in turned if _differs(row, pair, decided))
            row = within_reach(row, basis.most) if row["n_llms"] else row
            yield _alone(of_pair | row | {"reason": reasons(*codes)}, is_alone)
    for control in sorted({pair.control for pair in gains if pair.kind == "control"} | {CONTROL}):
        if control in basis.losses.techniques:
            for row in _of_control(basis, control, model):
                yield _alone(keys | {"part": PART} | row, is_alone)
    for row in model.predictions():
        yield _alone(keys | row, is_alone, ("p_best_new_llm",))


def pairs_of(question, ranked, controls):
    """Return what is compared to answer a question.

    Parameters
    ----------
    question : Question
    ranked, controls
        As of `analysis.engine.comparisons.comparisons`.

    Returns
    -------
    list of Comparison
    """
    return comparisons(question.keys["study"], question.place, question.basis.losses.techniques, ranked, controls)


def _n_cases(pair, gains, basis):
    """Return how many vignettes a comparison rests on, or items where there are more."""
    if not (gains and gains.llms):
        return 0
    n_vignettes = int(gains.used.any(axis=0).sum())
    if basis.items is None:
        return n_vignettes
    of_items = basis.items.gain(pair.technique, pair.control, gains.llms)
    return max(n_vignettes, int((~np.isnan(of_items)).any(axis=0).sum()))


def _by_llm(basis, pairs):
    """Return what is decided on each comparison over vendors (None) and for each LLM."""
    present = [pair for pair in pairs if {pair.technique, pair.control or pair.technique} <= {*basis.losses.techniques}]
    gains, family = compared(basis, present)
    rows = ((pair, row) for pair in present for row in _rows_of(pair, gains.get(pair), basis, family))
    return {(pair, row["llm"]): row["decision"] for pair, row in rows}


def _code_of(specification):
    """Return the code of a decision that is another under this specification, of one that is to be said beside it."""
    if specification["switch"] == READING:
        return "reading_would_change"
    return HANGS if specification["row_set"] == WITHOUT_SUSPECTS else None


def _differs(row, pair, decided):
    """Say whether another specification decides otherwise on the same."""
    return decided.get((pair, row["llm"]), row["decision"]) != row["decision"]


def mean_decision(pair, gains, basis, family):
    """Return what is decided on a comparison over vendors before any guard, and codes that say why nothing is.

    Parameters
    ----------
    pair : Comparison
    gains : Gains
        Of one LLM or more.
    basis : Basis
    family : Family
        The rows that share the confidence.

    Returns
    -------
    columns : dict
        As of `analysis.engine.rule.decide_over_vendors`, with what tells the row: `technique, control, llm, method`.
        Nothing is `equivalent` where an LLM surely gains or loses more than the margin.
    codes : list of str
    """
    columns, codes = decide_over_vendors(gains, level=one_sided(family.n_over_vendors), margin=basis.margin)
    if columns["decision"] == "equivalent" and surely_beyond(gains, basis, family):
        columns["decision"], codes = "no_evidence", [*codes, LLMS_DIFFER]
    columns |= {"technique": pair.technique, "control": pair.control, "llm": None, "method": OVER_VENDORS}
    columns |= {"n_comparisons": family.n_over_vendors, "n_llms": len(gains.llms), "n_trials": gains.n_trials}
    return columns | (dict.fromkeys(("decision", "decision_llms")) if pair.is_confounded else {}), codes


def _of_llms(gains, family):
    """Return bounds of the gain of each LLM as the criterion has them, and the root of its control or None."""
    bounds = gains.bounds_of_llms(level=one_sided(family.n_of_llms))
    return *bounds, gains.root(gains.control)


def surely_beyond(gains, basis, family, *, added=0.0):
    """Say whether an LLM surely gains or loses more than the margin, by the bounds of its own trials.

    Parameters
    ----------
    gains : Gains
    basis : Basis
    family : Family
    added : numpy.ndarray, shape (n LLMs,), optional
        What the gains would be larger by.

    Returns
    -------
    bool
    """
    low, high, root = _of_llms(gains, family)
    low, high = (in_points(end + added, root) for end in (low, high))
    return bool(((low > basis.margin) | (high < -basis.margin)).any())


def _rows_of(pair, gains, basis, family):
    """Yield what is decided on a comparison over vendors and for each LLM, with the codes of each as one text."""
    if not (gains and gains.llms):
        yield _without_gain(pair, basis, gains)
        return
    row, codes = mean_decision(pair, gains, basis, family)
    codes = [*codes, "placebo" if pair.kind == "placebo" else None, *_flags(pair, gains)]
    if not pair.is_confounded:
        codes.append(_attrition_over_vendors(row, gains, basis, family))
        changes = gains.level_changes() if row["decision"] == "use" else None
        if changes and gap_shrinks_with_level(*map(gains.by_vendor, changes)):
            codes.append(SHRINKS)
    yield _with_codes(row, codes, gains, basis, family)
    yield from _rows_of_llms(pair, gains, basis, family)


def _rows_of_llms(pair, gains, basis, family):
    lows, highs, roots = _of_llms(gains, family)
    attrition = np.transpose(gains.had_all_answered())
    for place, llm in enumerate(gains.llms):
        of_llm = basis.losses.compared(basis.goal, pair.technique, pair.control, among=[llm])
        root, gain = None if roots is None else roots[place], gains.values[place]
        row = {
            "technique": pair.technique, "control": pair.control, "llm": llm, "is_primary": False, "decision": None,
            "n_comparisons": family.n_of_llms, "method": OF_AN_LLM, "n_llms": 1, "n_vendors": 1,
            "loss": gains.root_of(gains.control[place] - gain), "loss_control": gains.root_of(gains.control[place]),
            "gain": in_points(gain, root), "gain_squared": None if root is None else gain,
            "n_gained": gain > ZERO, "n_trials": of_llm.n_trials,
        }  # fmt: skip
        row |= with_bounds((lows[place], highs[place]), root)
        codes = ["one_llm", "no_variance" if np.isnan(lows[place]) else None, *_flags(pair, of_llm)]
        if not pair.is_confounded:
            row["decision"] = decide(lows[place], highs[place], margin=basis.margin, root=root)
            codes.append(_attrition(attrition[place], row["decision"], basis.margin, root))
        yield _with_codes(row, codes, of_llm, basis, family)


def _with_codes(row, codes, gains, basis, family):
    """The row with what stands of its decisions, and all codes as one text."""
    row, limits = stood(row, gains, basis, family)
    return row | {"codes": reasons(*codes, *limits)}


def _over_vendors(gains, seed):
    """What else is said of all LLMs together that have a gain."""
    by_vendor = gains.by_vendor(gains.values)
    columns = {"n_gained": (gains.values > ZERO).sum()}
    if len(by_vendor) > 1:
        columns["p_sign_flip"] = sign_flip_p(by_vendor, seed=seed)
        root = gains.root(gains.by_vendor(gains.control).mean())
        plain = with_bounds(t_bounds(by_vendor, level=one_sided()), root)
        columns |= {"gain_plain_low": plain["gain_low"], "gain_plain_high": plain["gain_high"]}
    return columns


def _attrition_over_vendors(row, gains, basis, family):
    """Say whether answers that are missing could turn a decision over vendors, or make it another."""
    root = gains.root(gains.by_vendor(gains.control).mean())
    ends = [gains.by_vendor(end) for end in gains.had_all_answered()]
    if code := _attrition([float(end.mean()) for end in ends], row["decision"], basis.margin, root):
        return code
    redecided = {_redecided(end, one_sided(family.n_over_vendors), basis.margin, root) for end in ends}
    return "attrition_could_change" if redecided != {row["decision"]} else None


def _redecided(by_vendor, level, margin, root):
    """Return the decision over vendors if their gains were these; without bounds there is none."""
    if not np.isfinite(by_vendor).all() or len(by_vendor) < FEWEST_VENDORS:
        return "no_evidence"
    return decide(*t_bounds(by_vendor, level=level), margin=margin, root=root)


def _without_gain(pair, basis, gains):
    """The row of a technique of which no LLM can be compared, and why."""
    losses = basis.losses
    by_llm = losses.criterion_by_llm(basis.goal, pair.technique)
    return {
        "llm": None,
        "loss": by_llm.mean_loss() if by_llm.llms else None,
        "decision": None if pair.is_confounded else "no_evidence",
        "n_trials": losses.n_trials(pair.technique, basis.goal).sum(),
        "n_llms": 0,
        "n_vendors": 0,
        "method": OVER_VENDORS,
        "codes": reasons(why_no_gain(pair, losses, gains), "confounded_prompt" if pair.is_confounded else None),
    }


def why_no_gain(pair, losses, gains):
    """Return the code that says why no LLM can be compared.

    Parameters
    ----------
    pair : Comparison
    losses : DomainLosses
    gains : Gains or None
        None where the control was not asked.

    Returns
    -------
    str
    """
    if gains and gains.refused:
        return "baseline_below_10"
    if gains and gains.near_zero:
        return "baseline_near_0"
    return losses.why_not(pair.technique) or "control_not_asked"


def _of_control(basis, control, model):
    """The rows of a control itself: its loss, and how probable it is that no technique gains on it."""
    losses = basis.losses
    row = {"technique": control, "control": None, "is_primary": False, "confidence": CONFIDENCE}
    by_llm = losses.criterion_by_llm(basis.goal, control)
    if not by_llm.llms:
        return
    places = model.control(control)
    n_trials = dict(zip(losses.llms, losses.n_trials(control, basis.goal), strict=True))
    yield row | {
        "llm": None, "loss": by_llm.mean_loss(), "n_llms": len(by_llm.llms), "n_vendors": by_llm.n_vendors,
        "n_trials": sum(n_trials.values()), "method": OVER_VENDORS, **places,
        "reason": reasons("control", places.get("reason")),
    }  # fmt: skip
    for llm, value in zip(by_llm.llms, by_llm.values, strict=True):
        of_llm = {"llm": llm, "loss": by_llm.in_unit(value), "n_llms": 1, "n_vendors": 1, "n_trials": n_trials[llm]}
        yield row | of_llm | {"method": OF_AN_LLM, "reason": "control"}


def _alone(row, is_alone, places=OF_PLACES):
    """The row, without its place where there is no other technique."""
    if not is_alone or row.get(places[0]) is None:
        return row
    return row | dict.fromkeys({*places} & row.keys()) | {"reason": reasons(row["reason"], ALONE)}


def _flags(pair, gains):
    return [
        "no_variance_to_correct" if gains.uncorrected else None,
        "baseline_below_10" if gains.refused else None,
        "baseline_near_0" if gains.near_zero else None,
        "item_baseline_below_10" if gains.lacks_items else None,
        "baseline_below_30" if gains.thin else None,
        "confounded_prompt" if pair.is_confounded else None,
        "own_control" if pair.kind == "control" and pair.control != CONTROL else None,
    ]


def _attrition(bounds, decision, margin, root):
    """Say whether answers that are missing could turn a decision."""
    low, high = bounds
    is_wide = in_points(low, root) <= -margin or in_points(high, root) >= margin
    could = {"use": low < -ZERO, "avoid": high > ZERO, "equivalent": is_wide}
    return "attrition_could_reverse" if could.get(decision) else None
