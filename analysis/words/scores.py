"""What the tables of scores say of a study: sentences from the rows of the queries that `SAID` names."""

from analysis.words.codes import listed

SAID = ("effects", "calls", "contrasts", "trends", "means", "removals")


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
    contrasts = _told_apart(rows["contrasts"])
    parts = [
        _means(_by_metric(contrasts, "anchors")),
        _means_with_v0(_told_apart(rows["means"])),
        *(_removal(row) for row in rows["removals"]),
        _effects({row["specification"]: row for row in rows["effects"]}),
        _calls(next((row for row in rows["calls"] if row["llm"] is None), None)),
        _pairs(_by_metric(contrasts, "llms")),
        _corrected(_told_apart(rows["means"])),
        _regimes(_by_metric(contrasts, "regimes")),
        *(_trend(row) for row in rows["trends"]),
    ]
    return [sentence for sentence in parts if sentence]


def in_short(study, rows):
    """Say in a line how often the high anchor raised the expected answer.

    Parameters
    ----------
    study : str
    rows : dict of str to list of dict
        As of `sentences`.

    Returns
    -------
    str
    """
    published = next((row for row in rows["effects"] if row["specification"] == "published" and row["n"]), None)
    if not published:
        return f"{study}: no question of it was scored under a low and a high anchor."
    n = _of(published["n_raised"], published["n"])
    return f"{study}: the high anchor raises the expected answer in {n} cases."


def _told_apart(rows):
    """Return the rows with an LLM that was scored several times named with the set of its scorings."""
    sets = {}
    for row in rows:
        sets.setdefault(row["llm"], set()).add(row["scoring_set"])

    def named(llm, scoring_set):
        return f"{llm} ({scoring_set})" if len(sets.get(llm, ())) > 1 else llm

    return [
        row
        | {"llm": named(row["llm"], row["scoring_set"])}
        | ({"llm_b": named(row["llm_b"], row["scoring_set_b"])} if row.get("llm_b") else {})
        for row in rows
    ]


def _by_metric(contrasts, comparison):
    """Return the contrasts of a kind that have an interval, by metric."""
    rows = [row for row in contrasts if row["comparison"] == comparison and row["low"] is not None]
    return [[row for row in rows if row["metric"] == metric] for metric in ("abss", "delta_ev")]


def _means(by_metric):
    _, rows = by_metric
    if not rows:
        return None
    shifts = [f"{row['llm']} by {row['estimate']:.1f} points ({row['low']:.1f} to {row['high']:.1f})" for row in rows]
    clear = sum(_excludes_zero(row) for row in rows)
    fewest, most = (extreme(row["n_questions"] for row in rows) for extreme in (min, max))
    return (
        f"From the low anchor to the high one the expected answer moves: {listed(shifts)}. These are means over "
        f"{most if fewest == most else f'{fewest} to {most}'} questions, with 95 % intervals: {_of(clear, len(rows))} "
        f"{'excludes' if clear == 1 else 'exclude'} 0."
    )


def _means_with_v0(means):
    rows = [
        row
        for row in means
        if row["has_v0"] and row["metric"] == "delta_ev" and row["specification"] == "published"
        if row["estimate"] is not None
    ]
    if not rows:
        return None
    shifts = listed([f"{row['llm']} {row['estimate']:.1f}" for row in rows])
    return (
        "The classic question V0, which LLMs may have learned with its answer, stays out of these means. With it they "
        f"are: {shifts}."
    )


def _removal(row):
    return (
        f"With the number removed from the prompt, the expected answer lies between those under the two anchors in "
        f"{_of(row['n_between'], row['n'])} cases. The low anchor moves it by {row['moved_by_low']:.1f} points on "
        f"average, the high one by {row['moved_by_high']:.1f}."
    )


def _corrected(means):
    scores = {"normalised_blocks_of_ten": [], "recommended": []}
    for row in means:
        if row["metric"] == "abss" and not row["has_v0"] and row["specification"] in scores and row["low"] is not None:
            scores[row["specification"]].append(row)
    corrected, with_shapley = scores.values()
    if not corrected:
        return None
    text = (
        "With its tests corrected (probabilities that add up to 1, blocks of ten neighbouring answers kept together) "
        f"the sensitivity score is {_with_intervals(corrected)}"
    )
    if with_shapley:
        text += f"; with Shapley values in place of Banzhaf values as well, {_with_intervals(with_shapley)}"
    return f"{text}. Even so an LLM with random weights can be above 0."


def _with_intervals(rows):
    return listed([f"{row['llm']} {row['estimate']:.2f} ({row['low']:.2f} to {row['high']:.2f})" for row in rows])


def _effects(by_specification):
    published = by_specification.get("published")
    if not published or not published["n"]:
        return None
    n = published["n"]
    text = (
        f"In {_of(published['n_raised'], n)} cases (an LLM and a question with its anchors) the high anchor raises the "
        "expected answer. Document D tests something else: whether the average log-probability of the 101 answers "
        f"changes. It does in {_of(published['n_significant'], n)} (p below .05) if answers count as independent, "
        "which neighbouring ones are not"
    )
    if blocks := by_specification.get("blocks_of_ten"):
        text += f"; in {_of(blocks['n_significant'], n)} if blocks of ten neighbouring answers are kept together"
        if all_together := by_specification.get("recommended"):
            text += (
                f"; in {_of(all_together['n_significant'], n)} if probabilities are also made to add up to 1, which is "
                "the test we recommend"
            )
    return (
        f"{text}. Such a test can come out for an LLM with random weights, and fail where the expected answer moves "
        "far: what decides is how far it moves, over questions."
    )


def _calls(over_all):
    if not over_all or over_all["share"] is None:
        return None
    always, never, n = (over_all[name] for name in ("n_standing_always", "n_standing_never", "n_calls"))
    n_tests = round(over_all["n_specifications"] / n)
    return (
        f"Of these {n} {'case' if n == 1 else 'cases'} {always or 'none'} {_is(always)} significant under all "
        f"{n_tests} ways of testing that we tried, and {never or 'none'} under none; a case passes "
        f"{100 * over_all['share']:.0f} % of them on average."
    )


def _pairs(by_metric):
    by_score, by_shift = by_metric
    if not by_score:
        return None
    n = len(by_score)
    alike = [row for row in by_score if not _excludes_zero(row)]
    text = f"Document D's sensitivity score, as published, tells {_of(n - len(alike), n)} pairs of LLMs apart"
    if by_shift:
        told = sum(_excludes_zero(row) for row in by_shift)
        text += f", the move of the expected answer {_of(told, len(by_shift))} (each by an interval of its own)"
    if alike:
        text += f". The score cannot tell apart {_named(alike)}"
    shifts = {(row["llm"], row["llm_b"]): row["estimate"] for row in by_shift}
    if reversed_ := [row for row in by_score if row["estimate"] * shifts.get((row["llm"], row["llm_b"]), 0) < 0]:
        text += f". Which of two LLMs is more biased depends on the measure for {_named(reversed_)}"
    return f"{text}."


def _named(pairs):
    return "; ".join(f"{row['llm']} and {row['llm_b']}" for row in pairs)


def _regimes(by_metric):
    by_score, by_shift = by_metric
    if not by_shift:
        return None
    text = "Under anchors of a question's own instead of the standard ones the expected answer moves "
    text += f"{_otherwise(by_shift, 'clearly less', 'clearly more', 'LLMs')}"
    if by_score:
        text += f"; the sensitivity score is {_otherwise(by_score, 'clearly lower', 'clearly higher', 'of them')}"
    return f"{text}. The anchors differ in size too, so this does not show whether the standard question was learned."


def _otherwise(rows, less, more, noun):
    """Say in which LLMs something is less and in which more, or in how many it is neither."""
    parts = [
        f"{how} in {listed(named)}"
        for how, named in (
            (less, [row["llm"] for row in rows if row["high"] < 0]),
            (more, [row["llm"] for row in rows if row["low"] > 0]),
        )
        if named
    ]
    return (
        listed(parts) if parts else f"{less} or more in none of {len(rows)} {noun}".replace("none of 1 LLMs", "no LLM")
    )


def _trend(row):
    if row["low"] is None:
        return None
    outcome = "rises" if row["low"] > 0 else "falls" if row["high"] < 0 else "may rise or fall"
    return (
        f"Over {row['n_llms']} LLMs the sensitivity score, as published, {outcome} with size (by {row['low']:.2f} to "
        f"{row['high']:.2f} for ten times the parameters). So few LLMs, of different families, cannot show what size "
        "itself does."
    )


def _excludes_zero(row):
    return row["low"] > 0 or row["high"] < 0


def _is(count):
    return "is" if count == 1 else "are"


def _of(count, total):
    if total == 1:
        return "the one" if count else "none"
    return f"all {total}" if count == total else f"{count or 'none'} of {total}"
