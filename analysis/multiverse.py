"""`inference.sensitivity` and `inference.outcome_sensitivity`: which decisions hang on how one looks, and on whom."""

from functools import partial

import numpy as np

from analysis.decisions import comparisons, decide, decided, family, one_sided, why_no_gain
from analysis.losses import GOALS, DomainLosses
from analysis.outcomes import BIAS, MAIN, OVER_BOTH, ContrastLosses, or_none, taken_back
from analysis.small_samples import FEWEST_LLMS
from analysis.tables import columns, reasons

SPECIFICATION = ("excluded_llm", "response_source", "row_set", "baseline_scope", "refusals")
COLUMNS = columns(
    "varchar: study domain technique metric control comparison switch",
    f"varchar: {' '.join(SPECIFICATION)}",
    "double: gain gain_low gain_high gain_asked_low gain_asked_high",
    "varchar: decision decision_asked",
    "boolean: is_recommended",
    "bigint: n_specifications n_same_decision n_same_decision_asked",
    "varchar: carried_by carried_by_asked",
    "bigint: n_comparisons",
    "double: margin_pp",
    "bigint: n_trials n_llms",
    "varchar: method",
    "bigint: seed",
    "varchar: reason",
)
OF_ANCHORING_ALONE = ("domain", "metric", "response_source", "baseline_scope", "margin_pp")
OUTCOME_COLUMNS = (
    columns("varchar: study paradigm measure instrument arm arm_b")
    | {name: kind for name, kind in COLUMNS.items() if name not in OF_ANCHORING_ALONE}
    | columns("double: margin")
)
PART, METHOD = "outcome_sensitivity", "multiverse"
POOLED = "pooled"
RECOMMENDED, LEFT_OUT, LEAST, MOST = "recommended", "left_out", "least_gain", "most_gain"
KEPT = (
    "gain", "gain_low", "gain_high", "gain_asked_low", "gain_asked_high", "decision", "decision_asked",
    "n_comparisons", "n_trials", "n_llms", "reason",
)  # fmt: skip
NO_EVIDENCE = {"decision": "no_evidence", "decision_asked": "no_evidence"}
NO_ANSWERS = NO_EVIDENCE | {"reason": "no_answers", "n_llms": 0, "n_trials": 0}
MOVED = "bias_moved"
COULD_TURN = ("attrition_could_reverse", "attrition_could_change")


def sensitivity_rows(responses, ranked, controls, missing, *, margin_pp, response_source):
    """Decide anew with one thing changed at a time, and count in how many ways the decision is the same.

    The recommended specification is that of `inference.rank_probabilities`. Each other one differs from it in one
    switch: an LLM is left out, the other reading of the texts, another row set, a baseline of one temperature, or the
    trials without an answer had all been answered as badly, or as well, for the technique as they could have been.
    Specifications that come to the same numbers count once. What is confounded, or has no control, is decided nowhere
    and has no rows.

    Parameters
    ----------
    responses : pandas.DataFrame
        Rows of `marts.response_counts`, of all row sets and response sources.
    ranked : collection of str
    controls, missing : pandas.DataFrame
        As of `analysis.decisions.decision_rows`.
    margin_pp : float
    response_source : str
        The recommended one.

    Yields
    ------
    dict
        Rows of `COLUMNS`. `n_specifications`, `n_same_decision` and `carried_by` are of all rows of a headline (study,
        domain, technique, metric, control). Of five LLMs none can be left out without the decision becoming
        `no_evidence` for that alone: such rows do not count, and are told by `carried_by_asked` only.

    References
    ----------
    Steegen, Tuerlinckx, Gelman & Vanpaemel (2016), Increasing transparency through a multiverse analysis,
    Perspectives on Psychological Science 11(5), 702-712.
    """
    for (study, domain), rows in responses.groupby(["study", "domain"], observed=True, sort=True):
        here = missing[(missing["study"] == study) & (missing["domain"] == domain)]
        looks = list(_specifications(rows, here, response_source))
        recommended = looks[0][1]
        pairs = decidable(comparisons(study, domain, recommended.techniques, ranked, controls))
        keys = {"study": study, "domain": domain, "method": METHOD, "margin_pp": margin_pp}
        for goal in GOALS:
            look = partial(_decided_by_goal, pairs=pairs, goal=goal, margin_pp=margin_pp)
            yield from multiverse(
                keys | {"metric": goal},
                pairs,
                [(specification, look(losses)) for specification, losses in looks],
                [(llm, look(recommended, among=set(recommended.llms) - {llm})) for llm in recommended.llms],
                {pair: recommended.compared(goal, pair.technique, pair.control) for pair in pairs},
                margin_pp,
            )


def _specifications(rows, missing, response_source):
    """Yield what differs from the recommended specification, that one first, and the losses under it."""
    recommended = {"response_source": response_source, "row_set": MAIN["row_set"], "baseline_scope": POOLED}
    temperatures = sorted(rows["temperature"].dropna().astype(float).unique())
    switched = [(RECOMMENDED, {})]
    switched += [("reading", {"response_source": name}) for name in sorted(rows["response_source"].unique())]
    switched += [("row_set", {"row_set": name}) for name in sorted(rows["row_set"].unique())]
    switched += [("baseline", {"baseline_scope": f"t={temperature:g}"}) for temperature in temperatures]
    for switch, changed in switched:
        if switch != RECOMMENDED and changed.items() <= recommended.items():
            continue
        specification = recommended | changed
        of_source = rows[rows["response_source"] == specification["response_source"]]
        options = {name: specification[name] for name in ("row_set", "baseline_scope")}
        losses = DomainLosses(of_source, **options, missing=missing if switch == RECOMMENDED else None)
        yield {"switch": switch, **specification}, losses


def _decided_by_goal(losses, pairs, goal, margin_pp, among=None):
    """Return the row of each comparison of which the technique was asked."""
    present = [pair for pair in pairs if {pair.technique, pair.control} <= set(losses.techniques)]
    by_pair, n_of_kind = family(losses, present, goal, among=among)
    rows = {}
    for pair in pairs:
        gains, shared = by_pair.get(pair), {"n_comparisons": n_of_kind[pair.kind]}
        if gains and gains.llms:
            level = one_sided(n_of_kind[pair.kind])
            decision, codes = decided(gains.values, gains.asked_bounds(level=level), level=level, margin_pp=margin_pp)
            sizes = {"n_llms": len(gains.llms), "n_trials": gains.n_trials, "reason": reasons(*codes)}
            rows[pair] = shared | decision | sizes
        elif pair.technique in losses.techniques:
            n_trials = losses.n_trials(pair.technique).sum()
            why = {"reason": why_no_gain(pair, losses, gains), "n_llms": 0, "n_trials": n_trials}
            rows[pair] = shared | NO_EVIDENCE | why
        else:
            rows[pair] = shared | NO_ANSWERS
    return rows


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
        Rows of `OUTCOME_COLUMNS`, with the table's name as `part`. A headline is a study, paradigm, measure,
        instrument, contrast, technique and control; what is counted of it is as of `sensitivity_rows`.

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
            pairs = decidable(comparisons(study, paradigm, grid.techniques, ranked, controls))
            fewer = {llm: grid.without(llm) for llm in grid.llms}
            for asked in measured.contrasts:
                recommended = ContrastLosses.of(grid, asked)
                if recommended is None:
                    continue
                look = partial(_decided_by_contrast, study=study, pairs=pairs)
                named = {"arm": asked.arm, "arm_b": or_none(asked.arm_b), "margin": recommended.margin}
                yield from multiverse(
                    measured.keys | named | {"part": PART, "method": METHOD},
                    pairs,
                    [({"switch": RECOMMENDED, "row_set": MAIN["row_set"]}, look(recommended))]
                    + [
                        ({"switch": "row_set", "row_set": row_set}, look(ContrastLosses.of(other, asked)))
                        for row_set, other in grids.items()
                        if row_set != MAIN["row_set"]
                    ],
                    [(llm, look(ContrastLosses.of(others, asked))) for llm, others in fewer.items()],
                    {pair: recommended.losses.compared(BIAS, pair.technique, pair.control) for pair in pairs},
                    recommended.margin,
                    _taken_back,
                )


def _decided_by_contrast(of_contrast, study, pairs):
    """Return the row over LLMs of each comparison of which both sides were answered."""
    present = set(of_contrast.losses.techniques)
    answered = [pair for pair in pairs if {pair.technique, pair.control} <= present]
    rows = of_contrast.decisions(study, "", answered, n_draws=None, seed=None, is_whole=False)
    by_pair = {
        (row["technique"], row["control"], row["comparison"]): row
        for row in rows
        if row["llm"] is None and row["control"] is not None
    }
    return {pair: by_pair[pair.technique, pair.control, pair.kind] for pair in answered}


def _taken_back(decision, row, gains, margin):
    """Return what stands had all trials been answered, in view of the answers that there are, and why.

    The width of an interval that covers items too stays at least what it was: it is not known of which item a missing
    answer would have changed the contrast.
    """
    codes = [code for code in (row["reason"] or "").split("; ") if code not in (*COULD_TURN, MOVED)]
    if row["method"] == OVER_BOTH:
        half = (row["gain_high"] - row["gain_low"]) / 2
        half = max(half, decision.get("gain_high", -np.inf) - decision["gain"])
        decision |= {"gain_low": decision["gain"] - half, "gain_high": decision["gain"] + half}
        if row["n_llms"] >= FEWEST_LLMS:
            decision["decision"] = decide(decision["gain_low"], decision["gain_high"], margin_pp=margin)
    for code in codes:
        decision |= taken_back(decision, code)
    no_more_equivalent = taken_back(decision, MOVED) if (gains.moved() > margin).any() else {}
    return decision | no_more_equivalent | {"reason": reasons(*codes, MOVED if no_more_equivalent else None)}


def decidable(pairs):
    """Return the comparisons that something is decided on: those with a control that is not confounded."""
    return [pair for pair in pairs if pair.control and not pair.is_confounded]


def multiverse(keys, pairs, looks, without, gains, margin, stands=None):
    """Yield what is decided on each comparison under each specification, the recommended one first, and counts of it.

    Parameters
    ----------
    keys : dict
        What all rows share.
    pairs : list of Comparison
    looks : list of (dict, dict)
        What a specification is, and the row of each comparison under it; one without a row had no answers.
    without : list of (str, dict)
        An LLM, and the rows under the recommended specification without it.
    gains : dict of Comparison to Gains
        Under the recommended specification.
    margin : float
    stands : callable, optional
        From what is decided had all trials been answered, the recommended row, the gains and the margin to what stands.

    Yields
    ------
    dict
    """
    recommended = looks[0][0] | {"refusals": LEFT_OUT}
    for pair in pairs:
        rows = [specification | {"refusals": LEFT_OUT} | _kept(by_pair, pair) for specification, by_pair in looks]
        first = looks[0][1].get(pair, NO_ANSWERS)
        if first["n_llms"]:
            with_refusals = _with_refusals(first, gains[pair], margin, stands)
            rows[1:1] = [recommended | {"switch": "refusals"} | row for row in with_refusals]
        for llm, by_pair in without:
            if llm in gains[pair].llms and by_pair.get(pair, NO_ANSWERS)["n_llms"]:
                rows.append(recommended | {"switch": "llm_left_out", "excluded_llm": llm} | _kept(by_pair, pair))
        named = {"technique": pair.technique, "control": pair.control, "comparison": pair.kind}
        yield from (keys | named | row for row in counted(rows))


def _kept(by_pair, pair):
    row = by_pair.get(pair, NO_ANSWERS)
    return {name: row[name] for name in KEPT if name in row}


def _with_refusals(row, gains, margin, stands):
    """Yield the rows in which every trial without an answer had been answered, against and for the technique."""
    if not gains.knows_attrition:
        return
    low, high = row["gain_asked_low"], row["gain_asked_high"]
    for name, values in zip((LEAST, MOST), gains.had_all_answered(), strict=True):
        shared = {"refusals": name} | {size: row[size] for size in ("n_comparisons", "n_trials", "n_llms")}
        if not np.isfinite(values).all():
            yield shared | NO_EVIDENCE | {"reason": "valid_range_unknown"}
            continue
        shift, level = (values - gains.values).mean(), one_sided(row["n_comparisons"])
        decision, codes = decided(values, (low + shift, high + shift), level=level, margin_pp=margin)
        yield shared | (stands(decision, row, gains, margin) if stands else decision | {"reason": reasons(*codes)})


def counted(rows):
    """Yield the rows that differ, each with how many of them decide as the recommended one does, and by whom."""
    distinct = {}
    for row in rows:
        distinct.setdefault(_numbers(row), row)
    rows = list(distinct.values())
    first = next((row for row in rows if row["switch"] == RECOMMENDED), {})
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
    found = np.array([row.get(name) for name in COLUMNS if name.startswith("gain")], float)
    return (
        tuple(np.nan_to_num(found, nan=np.inf).round(9)),
        row["n_llms"],
        row["n_trials"],
        row.get("excluded_llm"),
        row["reason"],
    )
