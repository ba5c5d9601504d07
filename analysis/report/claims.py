"""The ledger of the Papers page: what was printed as a shaded half-line, and our interval on it."""

from collections import Counter

from analysis.report.values import clean, clean_lines
from analysis.words import claims as words

ORDER = ("holds", "weaker", "other_way", "contradicted", "confounded", None)
TONES = {
    "holds": "helps", "weaker": "unsure", "other_way": "unsure", "contradicted": "harms", "confounded": "same",
}  # fmt: skip
WORST_FIRST = ("contradicted", "other_way", "confounded", "weaker", "holds")


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
    """Return the claims about LLMs, and others that do not recompute, as the page's script lists them, the worst first.

    Parameters
    ----------
    claims : list of dict
        Rows of the report's query `claims`.

    Returns
    -------
    list of dict
        Numbers as the warehouse has them.
    """
    once = words.distinct(claims)
    about_llms = [claim for claim in once if claim["holds"] != "not_applicable" or claim["recomputes"] == "no"]
    return [_claim(claim) for claim in sorted(about_llms, key=_severity)]


def _severity(claim):
    """Sort wholly contradicted claims before unsure ones, sentences before numbers."""
    place = WORST_FIRST.index(claim["holds"]) if claim["holds"] in WORST_FIRST else len(WORST_FIRST)
    return place, claim["kind"] != "sentence", claim["document"], claim["claim_id"]


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
