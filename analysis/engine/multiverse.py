"""`inference.multiverse`: which decisions hang on how one looks, and on whom."""

import numpy as np

from analysis.engine.comparisons import compared
from analysis.engine.decisions import LLMS_DIFFER, mean_decision, surely_beyond, why_no_gain
from analysis.engine.guards import MOVED, OVER_BOTH, criterion_of, stood, taken_back
from analysis.engine.questions import AS_RECOMMENDED
from analysis.engine.rule import decide, in_points, one_sided, t_bounds, varies, with_bounds, within_reach
from analysis.methods.small_samples import FEWEST_VENDORS
from analysis.tables import declared, reasons

COLUMNS = declared("multiverse")
PART = "multiverse"
LEFT_OUT, LEAST, MOST = "left_out", "least_gain", "most_gain"
KEPT = (
    "gain", "gain_low", "gain_high", "gain_squared", "gain_squared_low", "gain_squared_high", "decision",
    "n_comparisons", "n_trials", "n_llms", "n_vendors", "reason",
)  # fmt: skip
NO_EVIDENCE = {"decision": "no_evidence"}
NO_ANSWERS = NO_EVIDENCE | {"reason": "no_answers", "n_llms": 0, "n_vendors": 0, "n_trials": 0}
ON_WHOM = {"excluded_llm": "llm", "excluded_vendor": "vendor"}  # who is left out


def multiverse(question, pairs):
    """Decide anew with one thing changed at a time, and count in how many ways the decision is the same.

    The recommended specification is that of `inference.decisions`. Each other one differs from it in one switch: an LLM
    or a vendor is left out, the other reading of the texts, another row set, a baseline of one temperature, or the
    trials without an answer had all been answered as badly, or as well, for the technique as they could have been.
    Specifications that come to the same numbers count once. What is confounded, or has no control, is decided nowhere
    and has no rows.

    Parameters
    ----------
    question : Question
    pairs : list of Comparison
        As of `analysis.engine.decisions.pairs_of`.

    Yields
    ------
    dict
        Rows of `COLUMNS`, with the table's name as `part`, and what intervals decide, as of
        `analysis.engine.decisions.mean_decision`. `n_specifications` and `n_same_decision` are of those rows of a
        headline (a question, technique and control) that change an analysis; `n_left_out` and `n_left_out_same` of
        those that leave out an LLM or a vendor, which `carried_by` names where the decision is another without them. Of
        five vendors none can be left out without the decision becoming `no_evidence` for that alone: such rows do not
        count.

    References
    ----------
    Steegen, Tuerlinckx, Gelman & Vanpaemel (2016), Increasing transparency through a multiverse analysis,
    Perspectives on Psychological Science 11(5), 702-712.
    """
    pairs, basis = [pair for pair in pairs if pair.control and not pair.is_confounded], question.basis
    shared = question.keys | {"part": PART, "margin": basis.margin}
    bases = [(question.specification, basis), *question.others()]
    by_specification = [(specification, _decided(other, pairs)) for specification, other in bases]
    llms = set(basis.losses.llms)
    gains, family = compared(basis, pairs)
    recommended = question.specification | {"refusals": LEFT_OUT}
    without = [
        ({"switch": f"{kind}_left_out", excluded: name}, others, _decided(basis, pairs, among=others))
        for excluded, kind in ON_WHOM.items()
        for name, others in _without_each(llms, None if kind == "llm" else basis.losses.vendors)
    ]
    for pair in pairs:
        rows = [
            specification | {"refusals": LEFT_OUT} | _kept(decided[pair], basis)
            for specification, decided in by_specification
        ]
        first = by_specification[0][1][pair]
        if first["n_llms"]:
            with_refusals = _with_refusals(first, gains[pair], basis, family)
            rows[1:1] = [recommended | {"switch": "refusals"} | row for row in with_refusals]
        for left_out, others, of_others in without:
            if not set(gains[pair].llms) <= others and of_others[pair]["n_llms"]:
                rows.append(recommended | left_out | _kept(of_others[pair], basis))
        named = {"technique": pair.technique, "control": pair.control, "comparison": pair.kind}
        yield from (shared | named | row for row in counted(rows))


def _without_each(llms, vendors):
    """Yield each unit and the LLMs of the others: vendors of more than one LLM, or each LLM where there are none."""
    units = {}
    for llm in sorted(llms):
        units.setdefault(llm if vendors is None else vendors.get(llm, llm), set()).add(llm)
    for name, of_unit in units.items():
        if vendors is None or len(of_unit) > 1:
            yield name, llms - of_unit


def _decided(basis, pairs, among=None):
    """Return the row of each comparison over the LLMs that enter, with the codes of its guards as `limits`."""
    techniques = set(basis.losses.techniques)
    present = [pair for pair in pairs if {pair.technique, pair.control} <= techniques]
    gains, family = compared(basis, present, among=among)
    rows = {}
    for pair in pairs:
        by_llm = gains.get(pair)
        if by_llm and by_llm.llms:
            row, codes = mean_decision(pair, by_llm, basis, family)
            row, limits = stood(row, by_llm, basis, family)
            rows[pair] = row | {"limits": limits, "reason": reasons(*codes, *limits)}
        elif pair.technique in techniques:
            n_trials = basis.losses.n_trials(pair.technique, basis.goal).sum()
            why = {"reason": why_no_gain(pair, basis.losses, by_llm), "n_llms": 0, "n_vendors": 0, "n_trials": n_trials}
            rows[pair] = NO_EVIDENCE | why | {"n_comparisons": family.n_over_vendors}
        else:
            rows[pair] = NO_ANSWERS | {"n_comparisons": family.n_over_vendors}
    return rows


def _kept(row, basis):
    row = within_reach(row, basis.most) if row["n_llms"] else row
    return {name: row[name] for name in KEPT if name in row}


def _with_refusals(row, gains, basis, family):
    """Yield the rows in which every trial without an answer had been answered, against and for the technique."""
    level = one_sided(row["n_comparisons"])
    root = gains.root(gains.by_vendor(gains.control).mean())
    limits = [code for code in row["limits"] if code != MOVED]
    sizes = {name: row[name] for name in ("n_comparisons", "n_trials", "n_llms", "n_vendors")}
    for name, values in zip((LEAST, MOST), gains.had_all_answered(), strict=True):
        shared = {"refusals": name} | sizes
        if not np.isfinite(values).all():
            yield shared | NO_EVIDENCE | {"reason": "valid_range_unknown"}
            continue
        by_vendor = gains.by_vendor(values)
        decided = NO_EVIDENCE | {"gain": in_points(by_vendor.mean(), root)}
        decided |= {} if root is None else {"gain_squared": by_vendor.mean()}
        if bounds := _as_wide(by_vendor, row, gains, level):
            decided |= with_bounds(bounds, root)
            if row["n_vendors"] >= FEWEST_VENDORS:
                decided["decision"] = decide(*bounds, margin=basis.margin, root=root)
        codes = [] if row["n_vendors"] >= FEWEST_VENDORS else ["too_few_vendors"]
        if not bounds and row["n_vendors"] > 1:
            codes.append("zero_variance")
        added = values - gains.values
        if decided["decision"] == "equivalent" and surely_beyond(gains, basis, family, added=added):
            decided["decision"], codes = "no_evidence", [LLMS_DIFFER]
        for code in limits:
            decided |= taken_back(decided, code)
        is_moved = MOVED in basis.guards and (gains.moved() > basis.margin).any()
        moved = taken_back(decided, MOVED) if is_moved else {}
        yield shared | decided | moved | {"reason": reasons(*codes, *limits, MOVED if moved else None)}


def _as_wide(by_vendor, row, gains, level):
    """Bounds over vendors, no narrower than those over vendors and items where these are what counts.

    It is not known of which item a missing answer would have changed the contrast.
    """
    if not varies(by_vendor):
        return None
    low, high = t_bounds(by_vendor, level=level)
    if row["method"] == OVER_BOTH:
        _, least, most, _ = criterion_of(row, gains)
        half = max((most - least) / 2, (high - low) / 2)
        low, high = by_vendor.mean() - half, by_vendor.mean() + half
    return low, high


def counted(rows):
    """Count in how many ways the decision is the same.

    Parameters
    ----------
    rows : list of dict
        Of one headline, by specification.

    Yields
    ------
    dict
        The rows that differ, with `is_recommended` and the counts of `multiverse`.
    """
    distinct = {}
    for row in rows:
        distinct.setdefault(_numbers(row), row)
    rows = list(distinct.values())
    first = next((row for row in rows if row["switch"] == AS_RECOMMENDED), {})
    enough = first.get("n_vendors", 0) >= FEWEST_VENDORS
    without = [row for row in rows if _left_out(row) and not (enough and row["n_vendors"] < FEWEST_VENDORS)]
    analyses = [row for row in rows if not _left_out(row)]
    counts = {}
    for kind, among in (("n_specifications", analyses), ("n_left_out", without)):
        n_same = sum(row["decision"] == first.get("decision") for row in among)
        counts |= {kind: len(among), "n_same_decision" if kind == "n_specifications" else f"{kind}_same": n_same}
    carriers = [_left_out(row) for row in without if row["decision"] != first.get("decision")]
    counts["carried_by"] = ", ".join(dict.fromkeys(carriers)) or None
    for row in rows:
        decision = {"interval_decision": row["decision"], "is_recommended": row is first}
        yield {name: value for name, value in row.items() if name != "decision"} | counts | decision


def _left_out(row):
    return row.get("excluded_llm") or row.get("excluded_vendor")


def _numbers(row):
    """What a row comes to: rows that come to the same are one specification, but for who is left out."""
    gains = np.array([row.get(name) for name in COLUMNS if name.startswith("gain")], float)
    return (
        tuple(np.nan_to_num(gains, nan=np.inf).round(9)),
        row["n_llms"],
        row["n_trials"],
        _left_out(row),
        row["reason"],
    )
