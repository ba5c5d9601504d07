"""`inference.outcome_sensitivity`: which decisions on biases other than anchoring depend on how one looks."""

import numpy as np

from analysis.decisions import comparisons, decide, decided, one_sided
from analysis.outcomes import BIAS, MAIN, OVER_BOTH, ContrastLosses, or_none, taken_back
from analysis.sensitivity import COLUMNS as OF_ANCHORING
from analysis.sensitivity import LEAST, LEFT_OUT, METHOD, MOST, counted
from analysis.small_samples import FEWEST_LLMS
from analysis.tables import columns, reasons

OF_ANCHORING_ALONE = ("domain", "metric", "response_source", "baseline_scope", "margin_pp")
COLUMNS = (
    columns("varchar: study paradigm measure instrument arm arm_b")
    | {name: kind for name, kind in OF_ANCHORING.items() if name not in OF_ANCHORING_ALONE}
    | columns("double: margin")
)
KEPT = (
    "gain", "gain_low", "gain_high", "gain_asked_low", "gain_asked_high", "decision", "decision_asked",
    "n_comparisons", "n_trials", "n_llms", "reason",
)  # fmt: skip
NO_EVIDENCE = {"decision": "no_evidence", "decision_asked": "no_evidence"}
MOVED = "bias_moved"
COULD_TURN = ("attrition_could_reverse", "attrition_could_change")
PART = "outcome_sensitivity"


def outcome_sensitivity_rows(found, ranked, controls):
    """Decide on every technique against a bias anew, with one thing changed at a time.

    The decisions are those of `analysis.outcomes`, on all LLMs; changed is an LLM that is left out, the row set, or
    that trials without an answer had all been answered, in the way that lets the technique gain the least or the most.

    Parameters
    ----------
    found, ranked, controls
        As of `analysis.outcomes.outcome_rows`.

    Yields
    ------
    dict
        Rows of `COLUMNS`, with the table's name as `part`. A headline is a study, paradigm, measure, instrument,
        contrast, technique and control; what is counted of it is as of `analysis.sensitivity.sensitivity_rows`.

    References
    ----------
    Steegen, Tuerlinckx, Gelman & Vanpaemel (2016), Increasing transparency through a multiverse analysis,
    Perspectives on Psychological Science 11(5), 702-712.
    """
    for (study, paradigm), of_paradigm in found:
        for measured in of_paradigm:
            grids = measured.grids
            if MAIN["row_set"] not in grids:
                continue
            grid = grids[MAIN["row_set"]]
            fewer = {llm: grid.without(llm) for llm in grid.llms}
            pairs = comparisons(study, paradigm, grid.techniques, ranked, controls)
            pairs = [pair for pair in pairs if not pair.is_confounded and pair.control]
            for asked in measured.contrasts:
                of_contrast = _of_contrast(study, asked, grids, fewer, pairs)
                if of_contrast is None:
                    continue
                keys = measured.keys | {"arm": asked.arm, "arm_b": or_none(asked.arm_b), "part": PART, "method": METHOD}
                for pair, rows in of_contrast.items():
                    of = {"technique": pair.technique, "control": pair.control, "comparison": pair.kind}
                    yield from (keys | of | row for row in counted(rows))


def _of_contrast(study, asked, grids, fewer, pairs):
    """Rows of each comparison on one contrast, the recommended one first; nothing where none is decided on."""
    recommended = ContrastLosses.of(grids[MAIN["row_set"]], asked)
    if recommended is None:
        return None
    shared = {"switch": "recommended", "row_set": MAIN["row_set"], "refusals": LEFT_OUT, "margin": recommended.margin}
    first, rows = _decided(recommended, study, pairs), {pair: [] for pair in pairs}
    for pair, row in first.items():
        rows[pair].append(shared | _kept(row))
        for of in _with_refusals(recommended, row):
            rows[pair].append(shared | {"switch": "refusals"} | of)
    for row_set, grid in grids.items():
        if row_set != MAIN["row_set"]:
            found = _decided(ContrastLosses.of(grid, asked), study, pairs)
            for pair in pairs:
                of = _kept(found[pair]) if pair in found else NO_EVIDENCE | {
                    "reason": "no_answers", "n_llms": 0, "n_trials": 0,
                }  # fmt: skip
                rows[pair].append(shared | {"switch": "row_set", "row_set": row_set} | of)
    for llm, grid in fewer.items():
        found = _decided(ContrastLosses.of(grid, asked), study, pairs)
        for pair, row in found.items():
            is_of_it = llm in recommended.losses.compared(BIAS, pair.technique, pair.control).llms
            if is_of_it and row["n_llms"]:
                rows[pair].append(shared | {"switch": "llm_left_out", "excluded_llm": llm} | _kept(row))
    return rows


def _decided(of_contrast, study, pairs):
    """Return the row over LLMs of each comparison of which both sides were answered."""
    present = set(of_contrast.losses.techniques)
    asked = [pair for pair in pairs if {pair.technique, pair.control} <= present]
    rows = [
        row
        for row in of_contrast.decisions(study, "", asked, n_draws=None, seed=None, is_whole=False)
        if row["llm"] is None and row["control"] is not None
    ]
    return {pair: next(row for row in rows if _is_of(pair, row)) for pair in asked}


def _is_of(pair, row):
    return (pair.technique, pair.control, pair.kind) == (row["technique"], row["control"], row["comparison"])


def _kept(row):
    return {name: row[name] for name in KEPT if name in row}


def _with_refusals(of_contrast, row):
    """Yield the rows in which every trial without an answer had been answered, against and for the technique.

    The width of an interval that covers items too stays at least what it was: it is not known of which item a missing
    answer would have changed the contrast. What cannot stand in view of the answers that there are cannot here either.
    """
    if not row["n_llms"]:
        return
    gains = of_contrast.losses.compared(BIAS, row["technique"], row["control"])
    low, high = row["gain_asked_low"], row["gain_asked_high"]
    codes = [code for code in (row["reason"] or "").split("; ") if code not in (*COULD_TURN, MOVED)]
    shared = {name: row[name] for name in ("n_comparisons", "n_trials", "n_llms")}
    level, margin = one_sided(row["n_comparisons"]), of_contrast.margin
    is_moved = (gains.moved() > margin).any()
    for name, values in zip((LEAST, MOST), gains.had_all_answered(), strict=True):
        of = shared | {"refusals": name}
        if not np.isfinite(values).all():
            yield of | NO_EVIDENCE | {"reason": "valid_range_unknown"}
            continue
        shift = (values - gains.values).mean()
        found, _ = decided(values, (low + shift, high + shift), level=level, margin_pp=margin)
        if row["method"] == OVER_BOTH:
            half = (row["gain_high"] - row["gain_low"]) / 2
            half = max(half, found.get("gain_high", -np.inf) - found["gain"])
            found |= {"gain_low": found["gain"] - half, "gain_high": found["gain"] + half}
            if row["n_llms"] >= FEWEST_LLMS:
                found["decision"] = decide(found["gain_low"], found["gain_high"], margin_pp=margin)
        for code in codes:
            found |= taken_back(found, code)
        no_more_equivalent = taken_back(found, MOVED) if is_moved else {}
        yield of | found | no_more_equivalent | {"reason": reasons(*codes, MOVED if no_more_equivalent else None)}
