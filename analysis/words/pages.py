"""What a page says of a paradigm, and which rows of it it shows."""

from analysis.words.advice import SIMULATED_FIRST, advise, headline, notes, sorted_by_decision
from analysis.words.measures import arms, compared, is_share, with_unit

NONE_SHOWN = "no technique is shown to make it better or worse"


def summary(evidences):
    """Say of a paradigm how large its bias is, and what helps.

    Parameters
    ----------
    evidences : list of Evidence
        One for each domain; of a paradigm without goals one for all.

    Returns
    -------
    dict
        Its `noun`, `headline`, `sentences`, `notes` beneath the table of measures, `goals` with the decisions by each,
        and the techniques that its leading goal or measure says to `use`, to `avoid`, or `either` by comparison.
    """
    first = evidences[0]
    leading = [row for evidence in evidences for row in evidence.of(*evidence.leading, own=bool(evidence.own))]
    decided = sorted_by_decision(leading)
    return {word: sorted(row["name"] for row in decided[word]) for word in ("use", "avoid", "either")} | {
        "noun": first.noun,
        "headline": f"{SIMULATED_FIRST * first.is_simulated}{' '.join(map(headline, evidences))}",
        "sentences": [
            f"{evidence.domain}: {advice['text']}" if evidence.domain else advice["text"]
            for evidence in evidences
            for advice in advise(evidence)[1:]
        ],
        "notes": [text for evidence in evidences if evidence.biases for text in notes(evidence, tuple(evidence.goals))],
        "goals": [
            row | {"measures": evidence.words(row).measures, "unit": evidence.words(row).unit}
            for evidence in evidences
            if not evidence.biases
            for row in evidence.of(*evidence.goals)
        ],
    }


def rows_shown(biases, evidence):
    """Return each bias with a technique beside what is decided and foretold of that technique.

    Parameters
    ----------
    biases : list of dict
        As of `analysis.words.biases.sentences`.
    evidence : Evidence

    Returns
    -------
    list of dict
    """

    def by_comparison(rows):
        return {(*compared(row), row["technique"]): row for row in rows}

    decisions = by_comparison(evidence.of(*evidence.goals, own=bool(evidence.own)))
    predictions = by_comparison(evidence.predictions)
    page_rows = []
    for bias in biases:
        of_technique = (*compared(bias), bias["technique"])
        decision, prediction = decisions.get(of_technique, {}), predictions.get(of_technique, {})
        page_rows.append(
            bias
            | {
                "of": f"{with_unit(bias)}: {arms(bias)}",
                "is_share": is_share(bias),
                "control": decision.get("control"),
                "gain": decision.get("gain"),
                "gain_low": decision.get("gain_low"),
                "gain_high": decision.get("gain_high"),
                "decision": decision.get("decision"),
                "certainty": decision.get("certainty"),
                "p_better_than_control": prediction.get("p_better_than_control"),
            }
        )
    return page_rows
