"""`inference.multiverse`: which decisions hang on how one looks, and on whom."""

import numpy as np

from analysis.engine.comparisons import compared
from analysis.engine.decisions import mean_decision, why_no_gain
from analysis.engine.guards import MOVED, OVER_BOTH, stood, taken_back
from analysis.engine.questions import AS_RECOMMENDED
from analysis.engine.rule import decide, decide_from_gains, one_sided
from analysis.methods.small_samples import FEWEST_LLMS
from analysis.tables import declared, reasons

COLUMNS = declared("multiverse")
PART = "multiverse"
LEFT_OUT, LEAST, MOST = "left_out", "least_gain", "most_gain"
KEPT = (
    "gain", "gain_low", "gain_high", "gain_asked_low", "gain_asked_high", "decision", "decision_asked",
    "n_comparisons", "n_trials", "n_llms", "reason",
)  # fmt: skip
NO_EVIDENCE = {"decision": "no_evidence", "decision_asked": "no_evidence"}
NO_ANSWERS = NO_EVIDENCE | {"reason": "no_answers", "n_llms": 0, "n_trials": 0}


def multiverse(question, pairs):
    """Decide anew with one thing changed at a time, and count in how many ways the decision is the same.

    The recommended specification is that of `inference.decisions`. Each other one differs from it in one switch: an LLM
    is left out, the other reading of the texts, another row set, a baseline of one temperature, or the trials without
    an answer had all been answered as badly, or as well, for the technique as they could have been. Specifications that
    come to the same numbers count once. What is confounded, or has no control, is decided nowhere and has no rows.

    Parameters
    ----------
    question : Question
    pairs : list of Comparison
        As of `analysis.engine.decisions.pairs_of`.

    Yields
    ------
    dict
        Rows of `COLUMNS`, with the table's name as `part`. `n_specifications`, `n_same_decision` and `carried_by` are
        of all rows of a headline (a question, technique and control). Of five LLMs none can be left out without the
        decision becoming `no_evidence` for that alone: such rows do not count, and are told by `carried_by_asked` only.

    References
    ----------
    Steegen, Tuerlinckx, Gelman & Vanpaemel (2016), Increasing transparency through a multiverse analysis,
    Perspectives on Psychological Science 11(5), 702-712.
    """
    pairs, basis = [pair for pair in pairs if pair.control and not pair.is_confounded], question.basis
    shared = question.keys | {"part": PART, "margin": basis.margin}
    bases = [(question.specification, basis), *question.others()]
    by_specification = [(specification, _decided(other, pairs)) for specification, other in bases]
    llms = basis.losses.llms
    without = [(llm, _decided(basis, pairs, among=set(llms) - {llm})) for llm in llms]
    gains, _ = compared(basis, pairs)
    recommended = question.specification | {"refusals": LEFT_OUT}
    for pair in pairs:
        rows = [specification | {"refusals": LEFT_OUT} | _kept(rows[pair]) for specification, rows in by_specification]
        first = by_specification[0][1][pair]
        if first["n_llms"]:
            with_refusals = _with_refusals(first, gains[pair], basis)
            rows[1:1] = [recommended | {"switch": "refusals"} | row for row in with_refusals]
        for llm, of_others in without:
            if llm in gains[pair].llms and of_others[pair]["n_llms"]:
                rows.append(recommended | {"switch": "llm_left_out", "excluded_llm": llm} | _kept(of_others[pair]))
        named = {"technique": pair.technique, "control": pair.control, "comparison": pair.kind}
        yield from (shared | named | row for row in counted(rows))


def _decided(basis, pairs, among=None):
    """Return the row of each comparison over the LLMs that enter, with the codes of its guards as `limits`."""
    techniques = set(basis.losses.techniques)
    present = [pair for pair in pairs if {pair.technique, pair.control} <= techniques]
    gains, n_by_kind = compared(basis, present, among=among)
    rows = {}
    for pair in pairs:
        by_llm, n_comparisons = gains.get(pair), n_by_kind[pair.kind]
        if by_llm and by_llm.llms:
            row, codes = mean_decision(pair, by_llm, basis, n_comparisons)
            row, limits = stood(row, by_llm, basis, among)
            rows[pair] = row | {"limits": limits, "reason": reasons(*codes, *limits)}
        elif pair.technique in techniques:
            n_trials = basis.losses.n_trials(pair.technique, basis.goal).sum()
            why = {"reason": why_no_gain(pair, basis.losses, by_llm), "n_llms": 0, "n_trials": n_trials}
            rows[pair] = NO_EVIDENCE | why | {"n_comparisons": n_comparisons}
        else:
            rows[pair] = NO_ANSWERS | {"n_comparisons": n_comparisons}
    return rows


def _kept(row):
    return {name: row[name] for name in KEPT if name in row}


def _with_refusals(row, gains, basis):
    """Yield the rows in which every trial without an answer had been answered, against and for the technique."""
    low, high = row["gain_asked_low"], row["gain_asked_high"]
    for name, values in zip((LEAST, MOST), gains.had_all_answered(), strict=True):
        shared = {"refusals": name} | {size: row[size] for size in ("n_comparisons", "n_trials", "n_llms")}
        if not np.isfinite(values).all():
            yield shared | NO_EVIDENCE | {"reason": "valid_range_unknown"}
            continue
        shift, level = (values - gains.values).mean(), one_sided(row["n_comparisons"])
        decision, codes = decide_from_gains(values, (low + shift, high + shift), level=level, margin=basis.margin)
        limits = [code for code in row["limits"] if code != MOVED]
        decision |= _as_wide(decision, row, basis.margin)
        for code in limits:
            decision |= taken_back(decision, code)
        if MOVED in basis.guards and (gains.moved() > basis.margin).any():
            no_more = taken_back(decision, MOVED)
            limits, decision = [*limits, *([MOVED] if no_more else [])], decision | no_more
        yield shared | decision | {"reason": reasons(*codes, *limits)}


def _as_wide(decision, row, margin):
    """The decision by an interval no narrower than that over LLMs and items, where that is what counts.

    It is not known of which item a missing answer would have changed the contrast.
    """
    if row["method"] != OVER_BOTH:
        return {}
    half = max((row["gain_high"] - row["gain_low"]) / 2, decision.get("gain_high", -np.inf) - decision["gain"])
    bounds = {"gain_low": decision["gain"] - half, "gain_high": decision["gain"] + half}
    if row["n_llms"] < FEWEST_LLMS:
        return bounds
    return bounds | {"decision": decide(*bounds.values(), margin=margin)}


def counted(rows):
    """Count in how many ways the decision is the same.

    Parameters
    ----------
    rows : list of dict
        Of one headline, by specification.

    Yields
    ------
    dict
        The rows that differ, with `n_specifications, n_same_decision, n_same_decision_asked`, and in `carried_by` and
        `carried_by_asked` the LLMs without any of which the decision is another.
    """
    distinct = {}
    for row in rows:
        distinct.setdefault(_numbers(row), row)
    rows = list(distinct.values())
    first = next((row for row in rows if row["switch"] == AS_RECOMMENDED), {})
    enough = first.get("n_llms", 0) >= FEWEST_LLMS
    comparable = [row for row in rows if not (enough and row.get("excluded_llm") and row["n_llms"] < FEWEST_LLMS)]
    counts = {"n_specifications": len(comparable)}
    for decision, among, named in (
        ("decision", comparable, "carried_by"),
        ("decision_asked", rows, "carried_by_asked"),
    ):
        counts[f"n_same_{decision}"] = sum(row.get(decision) == first.get(decision) for row in comparable)
        carriers = [row for row in among if row.get("excluded_llm") and row.get(decision) != first.get(decision)]
        counts[named] = ", ".join(row["excluded_llm"] for row in carriers) or None
    for row in rows:
        yield row | counts | {"is_recommended": row is first}


def _numbers(row):
    """What a row comes to: rows that come to the same are one specification, but for LLMs that are left out."""
    gains = np.array([row.get(name) for name in COLUMNS if name.startswith("gain")], float)
    return (
        tuple(np.nan_to_num(gains, nan=np.inf).round(9)),
        row["n_llms"],
        row["n_trials"],
        row.get("excluded_llm"),
        row["reason"],
    )
