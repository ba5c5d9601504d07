"""What a page says of a paradigm, and which rows of it it shows."""

from analysis.words.biases import decided_by_leading, headline, notes, row_of, sentences
from analysis.words.domains import SIMULATED_FIRST, advise
from analysis.words.measures import arms, is_share, with_unit, without_mirrors


def summary_of_measures(rows, leading, corrected, shown):
    """Say of a paradigm without goals how large its bias is, and what helps.

    Parameters
    ----------
    rows : dict of str to list of dict
        `biases, decisions, sensitivity` and `next_steps`, as of `analysis.words.biases.notes`.
    leading : list of dict
        The measures that lead.
    corrected : callable
        As of `analysis.words.biases.sentences`.
    shown : Shown

    Returns
    -------
    dict
        Its `headline`, `sentences` on each bias, `notes` beneath the table, no `goals`, and the techniques that its
        leading measure says to `use`, to `avoid`, or `either` by comparison.
    """
    biases, decisions = rows["biases"], rows["decisions"]
    return decided_by_leading(decisions) | {
        "headline": headline(biases, decisions, leading, shown.noun),
        "sentences": list(sentences(biases, shown.noun, corrected)),
        "notes": list(notes(biases, decisions, rows["sensitivity"], rows["next_steps"], shown)),
        "goals": [],
    }


def summary_of_goals(evidences):
    """Say of a paradigm that has goals what is said of a domain of anchoring.

    Parameters
    ----------
    evidences : list of Evidence
        One for each domain.

    Returns
    -------
    dict
        As of `summary_of_measures`, without notes; `goals` are the decisions by each.
    """
    advised = [[advice["text"] for advice in advise(evidence)] for evidence in evidences]
    simulated = advised[0][0].partition(SIMULATED_FIRST)[1]
    headlines = [texts[0].removeprefix(SIMULATED_FIRST) for texts in advised]
    rows = [
        row | {"measures": evidence.goals[goal].measures, "unit": evidence.goals[goal].unit}
        for evidence in evidences
        for goal in evidence.goals
        for row in evidence.of(goal)
    ]
    leading = [row | {"is_leading": True} for row in rows if row["goal"] == evidences[0].leading]
    return decided_by_leading(leading) | {
        "headline": f"{simulated}{' '.join(headlines)}",
        "sentences": [
            f"{evidence.domain}: {text}"
            for evidence, texts in zip(evidences, advised, strict=True)
            for text in texts[1:]
        ],
        "notes": [],
        "goals": rows,
    }


def rows_shown(rows, shown):
    """Return each bias with a technique beside what is decided and foretold of that technique.

    Parameters
    ----------
    rows : dict of str to list of dict
        `biases, decisions` and `predictions`.
    shown : Shown

    Returns
    -------
    list of dict
    """
    different, _ = without_mirrors(rows["biases"])
    page_rows = []
    for bias in different:
        decision, prediction = row_of(bias, rows["decisions"]), row_of(bias, rows["predictions"])
        gain, low, high = improvement(decision, prediction, shown)
        page_rows.append(
            bias
            | {
                "of": f"{with_unit(bias)}: {arms(bias)}",
                "is_share": is_share(bias),
                "control": decision and decision["control"],
                "gain": gain,
                "gain_low": low,
                "gain_high": high,
                "decision": decision and decision[shown.column],
                "p_better_than_control": prediction and prediction["p_better_than_control"],
            }
        )
    return page_rows


def improvement(decision, prediction, shown):
    """Return by how much a technique improves whom the table speaks of, with its interval.

    Parameters
    ----------
    decision, prediction : dict or None
    shown : Shown

    Returns
    -------
    list of float or None
        The gain and its bounds; None each where nothing is known.
    """
    row = (prediction if shown.is_foretold else decision) or {}
    which = "gain_asked" if shown.llm else "gain"
    return [row.get(name) for name in ("gain", f"{which}_low", f"{which}_high")]
