"""`inference.decisions`: what to do about a technique, over LLMs and for each of them, and how sure that is."""

from functools import partial

import numpy as np

from analysis.counts import CONTROL, stream
from analysis.engine.comparisons import compared, comparisons
from analysis.engine.guards import ALONE, WITHHELD, stood
from analysis.engine.places import Model
from analysis.engine.questions import READING
from analysis.engine.rule import ZERO, decide, decide_from_gains, one_sided, share_bound, t_bounds
from analysis.methods.contrasts import sign_flip_p
from analysis.methods.small_samples import CONFIDENCE, FEWEST_LLMS
from analysis.tables import declared, reasons

COLUMNS = declared("decisions")
PART = "decisions"
OVER_LLMS, OF_AN_LLM = "t_over_llms", "bias_aware"  # methods
OPPOSITE = {"use": "avoid", "avoid": "use"}
# among techniques of which there is one, it is the best and the worst, which says nothing
OF_PLACES = ("p_best", "p_worst", "rank_low", "rank_high")


def decisions(question, pairs, *, n_draws, seed):
    """Decide on each comparison of a question, over its LLMs and for each of them.

    An LLM's gain, the loss of the control less that of the technique, is one observation. Over LLMs the decision is
    read off Student's t interval of the mean gain, wide enough for all ranked techniques of the question together
    (Bonferroni); where items are a sample too, off one over LLMs and items if that is wider. What is said of the LLMs
    that were asked is read off bounds from their trials (`Gains.asked_bounds`), as wide. How probable a place is comes
    from a hierarchical model (`analysis.engine.predictions`).

    Parameters
    ----------
    question : Question
    pairs : list of Comparison
        As of `pairs_of`.
    n_draws, seed : int

    Yields
    ------
    dict
        Rows of `COLUMNS`, certainty aside (`with_certainty`), and of `analysis.engine.places.PREDICTIONS`, with the
        table's name as `part`. A row that comes as `withheld` has lost a decision that could not stand.

    References
    ----------
    Dunn (1961), Multiple comparisons among means, JASA 56(293), 52-64. Clopper & Pearson (1934), Biometrika 26(4).
    """
    basis, keys = question.basis, question.keys | {"seed": seed, "n_draws": n_draws}
    gains, n_by_kind = compared(basis, pairs)
    model = Model(gains, partial(stream, seed, keys["study"], *question.stream), n_draws)
    is_alone = sum(pair.kind == "control" for pair in pairs) == 1
    readings = [
        _by_llm(other, pairs) for specification, other in question.others() if specification["switch"] == READING
    ]
    for pair in pairs:
        of_pair = keys | {
            "part": PART, "technique": pair.technique, "control": pair.control, "comparison": pair.kind,
            "confidence": CONFIDENCE, "n_comparisons": n_by_kind[pair.kind], "margin": basis.margin,
        }  # fmt: skip
        for row in _rows_of(pair, gains.get(pair), basis, n_by_kind[pair.kind]):
            codes = [row.pop("codes")]
            if row["llm"] is None:
                row["is_primary"] = question.leads and pair.kind == "control" and row["n_llms"] > 0
                row |= _over_llms(row, gains.get(pair), basis, n_by_kind[pair.kind], seed)
                if row["n_llms"] and pair.kind == "control":
                    row |= model.places(pair)
            if any(_differs(row, pair, reading) for reading in readings):
                codes.append("reading_would_change")
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


def with_certainty(rows):
    """Yield rows with how sure each decision is: the first of the words that holds.

    Parameters
    ----------
    rows : list of dict
        Of one study and paradigm, as of `decisions`.

    Yields
    ------
    dict
        With `certainty` where something is decided.
    """
    elsewhere = {}
    for row in rows:
        if row["llm"] is None:
            elsewhere.setdefault(_told_apart(row), set()).add(row.get("decision"))
    for row in rows:
        if row.get("decision") is None:
            yield row
            continue
        if row["n_llms"] < FEWEST_LLMS:
            certainty = "too_few_llms"
        elif OPPOSITE.get(row["decision"]) in elsewhere.get(_told_apart(row), set()):
            certainty = "contradicted_elsewhere"
        elif row["decision"] != "no_evidence":
            certainty = "established"
        elif row.get("certainty") == WITHHELD:
            certainty = WITHHELD
        else:
            certainty = "promising" if row["decision_asked"] != "no_evidence" else "no_evidence"
        yield row | {"certainty": certainty}


def _told_apart(row):
    """What two rows share of which one may contradict the other."""
    return row["technique"], row["goal"], row.get("comparison")


def _by_llm(basis, pairs):
    """Return what is decided on each comparison over LLMs (None) and for each of them."""
    present = [pair for pair in pairs if {pair.technique, pair.control or pair.technique} <= {*basis.losses.techniques}]
    gains, n_by_kind = compared(basis, present)
    rows = ((pair, row) for pair in present for row in _rows_of(pair, gains.get(pair), basis, n_by_kind[pair.kind]))
    return {(pair, row["llm"]): (row["decision"], row["decision_asked"]) for pair, row in rows}


def _differs(row, pair, reading):
    """Say whether another reading decides otherwise on the same."""
    decided = (row["decision"], row["decision_asked"])
    return reading.get((pair, row["llm"]), decided) != decided


def mean_decision(pair, gains, basis, n_comparisons):
    """Return what is decided on a comparison over LLMs before any guard, and codes that say why nothing is.

    Parameters
    ----------
    pair : Comparison
    gains : Gains
        Of one LLM or more.
    basis : Basis
    n_comparisons : int
        That share the confidence.

    Returns
    -------
    columns : dict
        As of `analysis.engine.rule.decide_from_gains`, with what tells the row: `technique, control, llm, method`.
    codes : list of str
    """
    level = one_sided(n_comparisons)
    bounds = gains.asked_bounds(level=level)
    columns, codes = decide_from_gains(gains.values, bounds, level=level, margin=basis.margin)
    columns |= {"technique": pair.technique, "control": pair.control, "llm": None, "method": OVER_LLMS}
    columns |= {"n_comparisons": n_comparisons, "n_llms": len(gains.llms), "n_trials": gains.n_trials}
    return columns | (dict.fromkeys(("decision", "decision_asked")) if pair.is_confounded else {}), codes


def _rows_of(pair, gains, basis, n_comparisons):
    """Yield what is decided on a comparison over LLMs and for each of them, with the codes of each as one text."""
    if not (gains and gains.llms):
        yield _without_gain(pair, basis, gains)
        return
    row, codes = mean_decision(pair, gains, basis, n_comparisons)
    codes = [*codes, "placebo" if pair.kind == "placebo" else None, *_flags(pair, gains)]
    if not pair.is_confounded:
        codes.append(_attrition_over_llms(row, gains, basis, n_comparisons))
    yield _with_codes(row, codes, gains, basis) | _sizes(gains)
    level = one_sided(n_comparisons)
    lows, highs = gains.bounds_of_llms(level=level)
    attrition = np.transpose(gains.attrition_bounds())
    for place, llm in enumerate(gains.llms):
        of_llm = basis.losses.compared(basis.goal, pair.technique, pair.control, among=[llm])
        row = {
            "technique": pair.technique, "control": pair.control, "llm": llm, "n_comparisons": n_comparisons,
            "is_primary": False, "method": OF_AN_LLM, "decision": None, "decision_asked": None,
            "gain_asked_low": lows[place], "gain_asked_high": highs[place], "n_gained": gains.values[place] > ZERO,
        }  # fmt: skip
        codes = ["one_llm", *_flags(pair, of_llm)]
        if not pair.is_confounded:
            row["decision"] = "no_evidence"
            row["decision_asked"] = decide(lows[place], highs[place], margin=basis.margin)
            codes.append(_attrition(attrition[place], basis.margin, row["decision_asked"]))
        yield _with_codes(row | _sizes(of_llm), codes, of_llm, basis)


def _with_codes(row, codes, gains, basis):
    """The row with what stands of its decisions, and all codes as one text."""
    row, limits = stood(row, gains, basis)
    return row | {"codes": reasons(*codes, *limits)}


def _over_llms(row, gains, basis, n_comparisons, seed):
    """What else is said of all LLMs together that have a gain."""
    if not row["n_llms"]:
        return {}
    n_llms, values, margin = row["n_llms"], gains.values, basis.margin
    n_beyond = int((np.abs(values) > margin).sum())
    low, high = gains.bounds_of_llms(level=one_sided(n_comparisons))
    columns = {
        "n_gained": (values > ZERO).sum(),
        "p_sign_flip": sign_flip_p(values, seed=seed) if n_llms > 1 else None,
        "n_beyond_margin": n_beyond,
        "n_surely_beyond_margin": int(((low > margin) | (high < -margin)).sum()),
        "beyond_margin_high": share_bound(n_beyond, n_llms),
    }
    if "gain_low" in row:
        plain = t_bounds(values, level=one_sided())
        columns |= dict(zip(("gain_plain_low", "gain_plain_high"), plain, strict=True))
    return columns


def _attrition_over_llms(row, gains, basis, n_comparisons):
    """Say whether answers that are missing could turn a decision over LLMs, or make it another."""
    bounds = [float(end.mean()) for end in gains.attrition_bounds()]
    if code := _attrition(bounds, basis.margin, row["decision"], row["decision_asked"]):
        return code
    level = one_sided(n_comparisons)
    redecided = {_redecided(values, level=level, margin=basis.margin) for values in gains.had_all_answered()}
    return "attrition_could_change" if redecided != {row["decision"]} else None


def _redecided(values, *, level, margin):
    """Return the decision over LLMs if their gains were these; without bounds there is none."""
    if not np.isfinite(values).all():
        return "no_evidence"
    return decide_from_gains(values, (np.nan, np.nan), level=level, margin=margin)[0]["decision"]


def _without_gain(pair, basis, gains):
    """The row of a technique of which no LLM can be compared, and why."""
    losses = basis.losses
    by_cell = losses.by_goal(basis.goal).loss[..., losses.techniques.index(pair.technique)]
    by_llm = by_cell[~np.isnan(by_cell).all(axis=1)]
    nothing = None if pair.is_confounded else "no_evidence"
    return {
        "llm": None,
        "loss": np.nanmean(by_llm, axis=1).mean() if len(by_llm) else None,
        "decision": nothing,
        "decision_asked": nothing,
        "n_trials": losses.n_trials(pair.technique, basis.goal).sum(),
        "n_llms": 0,
        "method": OVER_LLMS,
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
    by_cell = losses.by_goal(basis.goal).loss[..., losses.techniques.index(control)]
    row = {"technique": control, "control": None, "is_primary": False, "confidence": CONFIDENCE}
    llms = np.flatnonzero((~np.isnan(by_cell)).any(axis=1))
    if not len(llms):
        return
    means = np.nanmean(by_cell[llms], axis=1)
    places = model.control(control)
    n_trials = losses.n_trials(control, basis.goal)
    yield row | {
        "llm": None, "loss": means.mean(), "n_llms": len(llms), "n_trials": n_trials.sum(), "method": OVER_LLMS,
        **places, "reason": reasons("control", places.get("reason")),
    }  # fmt: skip
    for place, mean in zip(llms, means, strict=True):
        of_llm = {"llm": losses.llms[place], "loss": mean, "n_llms": 1, "n_trials": n_trials[place]}
        yield row | of_llm | {"method": OF_AN_LLM, "reason": "control"}


def _alone(row, is_alone, places=OF_PLACES):
    """The row, without its place where there is no other technique."""
    if not is_alone or row.get(places[0]) is None:
        return row
    return row | dict.fromkeys({*places} & row.keys()) | {"reason": reasons(row["reason"], ALONE)}


def _sizes(gains):
    return {
        "loss": gains.loss.mean(),
        "loss_control": gains.loss_control.mean(),
        "gain": gains.values.mean(),
        "n_trials": gains.n_trials,
        "n_llms": len(gains.llms),
    }


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


def _attrition(bounds, margin, *decided):
    """Say whether answers that are missing could turn a decision."""
    low, high = bounds
    could = {"use": low < -ZERO, "avoid": high > ZERO, "equivalent": low <= -margin or high >= margin}
    return "attrition_could_reverse" if any(could.get(decision) for decision in decided) else None
