"""`inference.sensitivity`: which decisions depend on how one looks, and on whom."""

import numpy as np

from analysis.decisions import comparisons, decided, family, one_sided, why_no_gain
from analysis.losses import GOALS, DomainLosses
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
METHOD = "multiverse"
ACCEPTED, POOLED = "accepted", "pooled"
LEFT_OUT, LEAST, MOST = "left_out", "least_gain", "most_gain"


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
        keys = {"study": study, "domain": domain, "method": METHOD, "margin_pp": margin_pp}
        headlines, pairs = {}, None
        for specification, found in _specifications(rows, here, response_source):
            if pairs is None:
                pairs = comparisons(study, domain, found.techniques, ranked, controls)
                pairs = [pair for pair in pairs if not pair.is_confounded and pair.control]
            for goal in GOALS:
                for pair, row in _decisions(found, pairs, goal, specification, margin_pp):
                    headlines.setdefault((pair, goal), []).append(row)
        for (pair, goal), of_headline in headlines.items():
            of = {"technique": pair.technique, "metric": goal, "control": pair.control, "comparison": pair.kind}
            yield from (keys | of | row for row in counted(of_headline))


def _specifications(rows, missing, response_source):
    """Yield what differs from the recommended specification, that one first, and the losses under it."""
    recommended = {"response_source": response_source, "row_set": ACCEPTED, "baseline_scope": POOLED}
    temperatures = sorted(rows["temperature"].dropna().astype(float).unique())
    switched = [("recommended", {})]
    switched += [("reading", {"response_source": name}) for name in sorted(rows["response_source"].unique())]
    switched += [("row_set", {"row_set": name}) for name in sorted(rows["row_set"].unique())]
    switched += [("baseline", {"baseline_scope": f"t={temperature:g}"}) for temperature in temperatures]
    for switch, changed in switched:
        if switch != "recommended" and changed.items() <= recommended.items():
            continue
        of = recommended | changed
        read = rows[rows["response_source"] == of["response_source"]]
        known = missing if switch == "recommended" else None
        options = {"row_set": of["row_set"], "baseline_scope": of["baseline_scope"], "missing": known}
        yield {"switch": switch, **of}, DomainLosses(read, **options)


def _decisions(losses, pairs, goal, specification, margin_pp):
    """Yield a row of each comparison; under the recommended specification also with LLMs left out and refusals."""
    asked = [pair for pair in pairs if {pair.technique, pair.control} <= set(losses.techniques)]
    gains, n_of = family(losses, asked, goal)
    is_recommended = specification["switch"] == "recommended"
    for pair in pairs:
        level, of = one_sided(n_of[pair.kind]), gains.get(pair)
        shared = specification | {"refusals": LEFT_OUT, "n_comparisons": n_of[pair.kind]}
        if not (of and of.llms):
            is_known = pair.technique in losses.techniques
            code = why_no_gain(pair, losses, of) if is_known else "no_answers"
            n_trials = losses.n_trials(pair.technique).sum() if is_known else 0
            undecided = {"decision": "no_evidence", "decision_asked": "no_evidence", "reason": code}
            yield pair, shared | undecided | {"n_llms": 0, "n_trials": n_trials}
            continue
        yield pair, _row(shared, of, of.values, of.asked_bounds(level=level), level, margin_pp)
        if is_recommended:
            yield from ((pair, shared | {"switch": "refusals"} | row) for row in _with_refusals(of, level, margin_pp))
    if not is_recommended:
        return
    for llm in losses.llms:
        fewer, n_of = family(losses, asked, goal, among=set(losses.llms) - {llm})
        for pair, of in fewer.items():
            if of.llms and llm in gains[pair].llms:
                level = one_sided(n_of[pair.kind])
                shared = specification | {"switch": "llm_left_out", "excluded_llm": llm, "refusals": LEFT_OUT}
                shared |= {"n_comparisons": n_of[pair.kind]}
                yield pair, _row(shared, of, of.values, of.asked_bounds(level=level), level, margin_pp)


def _with_refusals(gains, level, margin_pp):
    """Yield the rows in which every trial without an answer had been answered, against and for the technique."""
    if not gains.knows_attrition:
        return
    low, high = gains.asked_bounds(level=level)
    for name, values in zip((LEAST, MOST), gains.had_all_answered(), strict=True):
        of = {"refusals": name}
        if np.isfinite(values).all():
            shift = (values - gains.values).mean()
            yield _row(of, gains, values, (low + shift, high + shift), level, margin_pp)
        else:
            unknown = {"decision": "no_evidence", "decision_asked": "no_evidence", "reason": "valid_range_unknown"}
            yield of | unknown | {"n_llms": len(gains.llms), "n_trials": gains.n_trials}


def _row(specification, gains, values, asked, level, margin_pp):
    found, codes = decided(values, asked, level=level, margin_pp=margin_pp)
    sizes = {"n_llms": len(gains.llms), "n_trials": gains.n_trials, "reason": reasons(*codes)}
    return specification | found | sizes


def counted(rows):
    """Yield the rows that differ, each with how many of them decide as the recommended one does, and by whom."""
    distinct = {}
    for row in rows:
        distinct.setdefault(_numbers(row), row)
    rows = list(distinct.values())
    first = next((row for row in rows if row["switch"] == "recommended"), {})
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
