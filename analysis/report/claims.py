"""The ledger of the Papers page: what was printed as a shaded half-line, and our interval on it."""

from collections import Counter

from analysis.report.values import clean, clean_lines
from analysis.words import claims as words

ORDER = ("holds", "weaker", "other_way", "contradicted", "confounded", None)
TONES = {
    "holds": "helps", "weaker": "unsure", "other_way": "unsure", "contradicted": "harms", "confounded": "same",
}  # fmt: skip
LEAVES = ("not_applicable", "not_checked")  # nothing about LLMs, or nothing that was judged: shown if its sums fail


def papers(claims):
    """Count the claims of each paper by what is said of them.

    Parameters
    ----------
    claims : list of dict
        Rows of the report's query `claims`.

    Returns
    -------
    list of dict
        `document`, `title`, and `kinds`: for numbers and sentences how many there are, recompute, and by verdict.
    """
    once = words.distinct(claims)
    titles = {claim["document"]: claim["paper"] for claim in claims}
    made = []
    for document in sorted({claim["document"] for claim in once}):
        of_document = [claim for claim in once if claim["document"] == document]
        kinds = []
        for kind in words.KINDS:
            if group := [claim for claim in of_document if claim["kind"] == kind]:
                verdicts = Counter(claim["holds"] for claim in group)
                kinds.append(
                    {
                        "kind": kind,
                        "noun": words.KINDS[kind][1],
                        "n": len(group),
                        "n_recomputed": sum(claim["recomputes"] == "yes" for claim in group),
                        "verdicts": _parts(verdicts),
                    }
                )
        made.append({"document": document, "title": clean(titles[document] or f"Document {document}"), "kinds": kinds})
    return made


def _parts(verdicts):
    """Return the parts of a bar in their order: how many of what, and how many stand before them."""
    known = [code for code in ORDER if code in verdicts]
    parts, before = [], 0
    for code in [*known, *sorted((code for code in verdicts if code not in ORDER), key=str)]:
        parts.append({"word": _word(code), "n": verdicts[code], "before": before, "tone": _tone(code)})
        before += verdicts[code]
    return parts


def _tone(code):
    return TONES.get(code, "none")


def _word(code):
    return words.HOLDS[code][0]


def ledger(claims):
    """Return the claims that are judged, or do not recompute, as the page's script lists them, the worst first.

    Parameters
    ----------
    claims : list of dict
        Rows of the report's query `claims`.

    Returns
    -------
    list of dict
        Numbers as the warehouse has them.
    """
    distinct = words.distinct(claims)
    once = [claim for claim in distinct if claim["holds"] not in LEAVES or claim["recomputes"] == "no"]
    once.sort(key=lambda claim: _severity(claim))
    return [_claim(claim) for claim in once]


def _severity(claim):
    """Sort wholly contradicted claims before unsure ones, sentences before numbers."""
    places = {"contradicted": 0, "other_way": 1, "confounded": 2, "weaker": 3, "holds": 4}
    return places.get(claim["holds"], 5), claim["kind"] != "sentence", claim["document"], claim["claim_id"]


def _claim(claim):
    unit, decimals = words.unit_and_decimals(claim)
    return {
        "id": clean("-".join(filter(None, (claim["claim_id"], claim["part"])))),
        "document": claim["document"],
        "where": clean(claim["location"]),
        "text": clean(claim["statement"]),
        "kind": claim["kind"],
        "sign": claim["comparison"],
        "unit": unit,
        "digits": decimals,
        "printed": claim["published_value"],
        "again": claim["recomputed_value"],
        "recomputes": claim["recomputes"],
        "value": claim["recommended_value"],
        "low": claim["recommended_low"],
        "high": claim["recommended_high"],
        "verdict": claim["holds"],
        "word": _word(claim["holds"]),
        "tone": _tone(claim["holds"]),
        "why": clean_lines(words.reason(claim) or ""),
    }
