"""What the tables of scores say of a study: the queries behind each finding, and sentences from their rows alone."""

from analysis.advice import listed

# Each gives rows with their `study`. Some rows stand for the page alone, which draws them.
QUERIES = {
    # what an LLM would answer under each anchor, with the band of single answers
    "expectations": """
        select study, scoring_set, llm, variation, anchor_direction, anchor, soft_ev, band_low, band_high, reason
        from marts.soft_expectations where evidence_from = 'scores' and specification = 'recommended'
        order by study, llm, scoring_set, variation, anchor
    """,
    # what the anchor adds to the log-probability of each target: a Shapley value where there is one
    "attributions": """
        select
            study, scoring_set, llm, variation, anchor_direction, anchor, target,
            coalesce(shapley_anchor, banzhaf_anchor) as attribution,
            if(shapley_anchor is null, 'banzhaf', 'shapley') as attributed_by
        from intermediate.int_scores_accepted
        order by study, llm, scoring_set, variation, anchor, target
    """,
    "sensitivities": """
        select study, scoring_set, llm, variation, anchor_regime, specification, abss, is_in_means, reason
        from marts.sensitivity_scores where specification in ('published', 'recommended')
        order by study, llm, scoring_set, variation, specification
    """,
    # a question under the standard anchors beside the same one under its own
    "regimes": """
        select
            study, scoring_set, llm, question,
            avg(delta_ev) filter (where anchor_regime = 'standard') as delta_ev_standard,
            avg(delta_ev) filter (where anchor_regime = 'different_anchors') as delta_ev_different
        from marts.anchor_effects where evidence_from = 'scores' and specification = 'published'
        group by all having count(distinct anchor_regime) = 2
        order by study, llm, scoring_set, question
    """,
    "calls": """
        select * from marts.anchor_calls where evidence_from = 'scores'
        order by study, llm nulls first, scoring_set, variation nulls first
    """,
    "effects": """
        select
            study, specification, count(delta_ev) as n,
            count(*) filter (where call_behaviour = 'B+') as n_raised,
            count(*) filter (where contains(stars_behaviour, '**')) as n_significant
        from marts.anchor_effects
        where evidence_from = 'scores' and specification in ('published', 'blocks_of_ten', 'recommended')
        group by all order by study, specification
    """,
    "means": """
        select study, llm, specification, metric, estimate, low, high, n_questions, reason
        from inference.anchor_sensitivities
        where evidence_from = 'scores' and specification = 'published' and metric = 'delta_ev'
        order by study, estimate desc nulls last, llm
    """,
    "contrasts": """
        select study, comparison, llm, llm_b, metric, estimate, low, high, n_comparisons, reason
        from inference.sensitivity_contrasts
        where
            evidence_from = 'scores' and specification = 'published'
            and case comparison when 'llms' then metric = 'abss' and llm < llm_b else metric = 'delta_ev' end
        order by study, comparison, estimate desc nulls last, llm, llm_b
    """,
    "trends": """
        select study, slope, low, high, n_llms, reason from inference.sensitivity_trends
        where evidence_from = 'scores' and specification = 'published' and metric = 'abss'
        order by study
    """,
}
SAID = ("effects", "calls", "means", "contrasts", "trends")


def sentences(rows):
    """Say what the scores of a study show, and what they cannot.

    Parameters
    ----------
    rows : dict of str to list of dict
        Those that the queries named in `SAID` give of the study.

    Returns
    -------
    list of str
        None of what has no number.
    """
    found = [
        _effects({row["specification"]: row for row in rows["effects"]}),
        _calls(next((row for row in rows["calls"] if row["llm"] is None), None)),
        _means(rows["means"]),
        _pairs([row for row in rows["contrasts"] if row["comparison"] == "llms"]),
        _regimes([row for row in rows["contrasts"] if row["comparison"] == "regimes"]),
        *(_trend(row) for row in rows["trends"]),
    ]
    return [sentence for sentence in found if sentence]


def _effects(by_specification):
    published = by_specification.get("published")
    if not published or not published["n"]:
        return None
    n = published["n"]
    said = (
        f"In {_of(published['n_raised'], n)} cases (an LLM and a question) the high anchor raises the expected answer. "
        f"Document D's own test calls {_of(published['n_significant'], n)} shifts significant, but takes the 101 "
        "answers for independent, and neighbouring ones move together."
    )
    if blocks := by_specification.get("blocks_of_ten"):
        said += f" With blocks of ten neighbouring answers kept together, {_of(blocks['n_significant'], n)} are"
        if all_together := by_specification.get("recommended"):
            said += f"; if the answers' probabilities are also made to add up to 1, {all_together['n_significant']} are"
        said += "."
    return said


def _calls(over_all):
    if not over_all or over_all["share"] is None:
        return None
    always, never, n = (over_all[name] for name in ("n_standing_always", "n_standing_never", "n_calls"))
    return (
        f"Of {n} shifts, {always or 'none'} are significant under every way of testing that we tried, and "
        f"{never or 'none'} under none; on average a shift is in {100 * over_all['share']:.0f} % of them."
    )


def _means(means):
    known = [row for row in means if row["low"] is not None]
    if not known:
        return None
    shifts = [
        f"{row['llm']} by {row['estimate']:.1f} percentage points ({row['low']:.1f} to {row['high']:.1f})"
        for row in known
    ]
    clear = sum(row["low"] > 0 or row["high"] < 0 for row in known)
    return (
        f"From the low anchor to the high one the expected answer moves: {listed(shifts)}. These are means over "
        f"questions with 95 % intervals, of which {clear or 'none'} {'excludes' if clear == 1 else 'exclude'} 0."
    )


def _pairs(pairs):
    known = [row for row in pairs if row["low"] is not None]
    if not known:
        return None
    alike = [f"{row['llm']} and {row['llm_b']}" for row in known if row["low"] <= 0 <= row["high"]]
    said = f"In document D's sensitivity score {_of(len(known) - len(alike), len(known))} pairs of LLMs differ by more "
    said += "than questions vary, each interval taken alone"
    return f"{said}. The data cannot tell apart: {'; '.join(alike)}." if alike else f"{said}."


def _regimes(regimes):
    known = [row for row in regimes if row["low"] is not None]
    if not known:
        return None
    clear = [row["llm"] for row in known if row["low"] > 0 or row["high"] < 0]
    found = (
        f"the expected answer moves by another amount in {listed(clear)}"
        if clear
        else f"none of {len(known)} LLMs shifts its expected answer by a clearly different amount"
    )
    return (
        f"Under anchors of a question's own instead of the standard ones, {found}. The anchors differ in size too, so "
        "this does not show whether an LLM has learned the standard question."
    )


def _trend(row):
    if row["low"] is None:
        return None
    outcome = "rises" if row["low"] > 0 else "falls" if row["high"] < 0 else "may rise or fall"
    return (
        f"Over {row['n_llms']} LLMs the sensitivity score {outcome} with size (by {row['low']:.2f} to "
        f"{row['high']:.2f} for ten times the parameters). So few LLMs, of different families, cannot show what size "
        "itself does."
    )


def _of(count, total):
    return f"all {total}" if count == total else f"{count or 'none'} of {total}"
