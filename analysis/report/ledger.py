"""The claims ledger: each published number beside what the trials give, down to its specification and its SQL."""

from collections import Counter
from html import escape
from urllib.parse import quote

from markupsafe import Markup

from analysis.report.tables import table_of
from analysis.report.values import MISSING, SAID_ABOVE, Number, clean, clean_lines, key_text
from analysis.words import claims as checks

CHECKS = (
    "(select checks.*, printed.study from marts.claim_checks as checks inner join claims.published_claims as printed "
    "on checks.claim_id = printed.claim_id and checks.part is not distinct from printed.part)"
)
SIGNS = {
    "yes": "✓", "no": "≠", "holds": "✓", "weaker": "?", "contradicted": "✕", "other_way": "↷",
    "confounded": "⇄",
    "not_derivable": MISSING, "not_checked": MISSING, "not_applicable": MISSING, None: MISSING,
}  # fmt: skip
IN_A_CELL = {
    "confounded": "unlike conditions",
    "other_way": "the other way, unsure",
    None: "not judged",
}  # what the code itself does not say under its heading


def ledger(study, dots):
    """Make the ledger of the claims about a study.

    Parameters
    ----------
    study : Study
    dots : dict of str to str
        By domain the id of the part of the page that draws its answers.

    Returns
    -------
    dict or None
        How many claims recompute and hold, what can be filtered by, what most specify, and each claim; None where
        nobody published anything about the study.
    """
    claims = study.claims
    if not claims:
        return None
    # a document that is about this study alone is named, so that its claims about no study are counted too
    whole = {"document": study.documents[0]} if study.documents else {}
    whole |= {"study": study.name} if not (study.name and study.documents) else {}
    once, alone = checks.distinct(claims), checks.printed_alone(claims)
    with_data = [claim for claim in claims if claim["document"] not in alone]
    shared = _shared(once)
    codes = {
        column: [code for code in labels if any(claim[column] == code for claim in (claims if code else with_data))]
        for column, labels in checks.LABELS.items()
    }
    documents = sorted({claim["document"] for claim in once})
    titles = {claim["document"]: claim["paper"] for claim in claims}
    first_places = {**whole, "is_first_place": True}
    return {
        "titles": [(document, title) for document, title in titles.items() if title],
        "sentences": checks.summed_up(claims) if any(claim["recomputes"] in ("yes", "no") for claim in claims) else [],
        "summary": _summary(study, once, codes, documents, first_places),
        "documents": documents,
        "recomputes": [(code, checks.RECOMPUTES[code][0]) for code in codes["recomputes"]],
        "holds": [(code or "", checks.HOLDS[code][0]) for code in codes["holds"] if code],
        "n_claims": Number(len(claims), "count(*)", 0, table="claims.published_claims", key=whole),
        "n_distinct": Number(len(once), "count(*)", 0, table=CHECKS, key=first_places),
        "shared": _specified(shared) if shared else None,
        "claims": _claims(checks.in_order(once), shared, dots),
    }


def _summary(study, claims, codes, documents, key):
    """Make the table of how many claims recompute and hold, by document and kind."""

    def counted(**where):
        return lambda row: Number(
            sum(all(claim[name] == value for name, value in where.items()) for claim in row["claims"]),
            "count(*)", 0, key=where,
        )  # fmt: skip

    rows = [
        {"document": document, "kind": kind, "claims": group}
        for document in documents
        for kind in checks.KINDS
        if (group := [claim for claim in claims if (claim["document"], claim["kind"]) == (document, kind)])
    ]
    columns = [
        ("document", lambda row: row["document"]),
        ("what", lambda row: checks.KINDS[row["kind"]][1]),
        ("in all", counted()),
        *(
            (f"{SIGNS[code]} {checks.LABELS[column][code][1]}", counted(**{column: code}))
            for column, of_column in codes.items()
            for code in of_column
        ),
    ]
    groups = [
        ("", 3),
        ("Can it be had again by the paper's own method?", len(codes["recomputes"])),
        ("Does the analysis that we recommend say so?", len(codes["holds"])),
    ]
    caption = "Printed numbers and sentences, each quantity counted once however often it is printed."
    name = "claims by what is said of them"
    return table_of(study, caption, CHECKS, key, ("document", "kind"), rows, columns, name=name, groups=groups)


def address(claim):
    """Return the id of a claim's row, which is its address on the page."""
    return "claim-" + quote("-".join(clean(claim[name]) for name in ("claim_id", "part") if claim[name]), safe="")


def _claims(claims, shared, dots):
    """Return what is shown of claims; SQL that several share stands with the first, to which the others lead."""
    first = {}
    return [_claim(claim, first.setdefault(claim["query"], claim), shared, dots) for claim in claims]


def _shared(claims):
    """Return what most of the claims specify alike, in the order of a specification."""
    most = []
    for name in checks.SPECIFICATION:
        value, n_claims = Counter(claim.get(name) for claim in claims).most_common(1)[0]
        if value is not None and n_claims > len(claims) / 2:
            most.append((name, value))
    return most


def _specified(pairs):
    return Markup("<code>{}</code>").format(" ".join(f"{name}={clean(value)}" for name, value in pairs))


def _claim(claim, first, shared, dots):
    unit, decimals = checks.unit_and_decimals(claim)
    published = claim["published_value"]
    is_exact = abs(published - round(published, decimals)) < 1e-9
    sign = "" if claim["comparison"] == "=" else f"{claim['comparison']} "

    def number(column, digits):
        value = claim[column]
        is_whole = decimals == 0 and value is not None and abs(value - round(value)) < 1e-9
        return Number(value, column, 0 if is_whole else digits, reason=SAID_ABOVE)

    return claim | {
        "address": address(claim),
        "key": key_text({name: claim[name] for name in ("claim_id", "part") if claim[name]}),
        "details": _details(claim, first, shared, dots),
        "statuses": [_status(claim[column]) for column in checks.LABELS],
        "sign": f"true if {sign}" if claim["kind"] == "sentence" else sign,
        "unit": unit,
        "published": number("published_value", decimals if is_exact else decimals + 1),
        "recomputed": number("recomputed_value", decimals + 1),
        "recommended": [number(f"recommended_{name}", decimals + 1) for name in ("value", "low", "high")],
        "has_interval": claim["recommended_low"] is not None and claim["recommended_high"] is not None,
    }


def _status(code):
    return code or "", f"{SIGNS[code]} {IN_A_CELL.get(code) or code.replace('_', ' ')}"


def _details(claim, first, shared, dots):
    entries = [("claim", Markup("<code>{}</code>").format(clean(claim["claim_id"])))]
    if why := checks.reason(claim):
        entries.append(("why", clean(" ".join(why.split()))))
    if claim["n_places"] > 1:
        entries.append(("printed in", Markup("{} places").format(Number(claim["n_places"], "n_places", 0))))
    if claim["newest_recomputes"] and any(claim[f"newest_{column}"] != claim[column] for column in checks.LABELS):
        newest = [labels[claim[f"newest_{column}"]][0] for column, labels in checks.LABELS.items()]
        entries.append(("on the newest version", ", ".join(newest)))
    if claim["n_trials"] is not None:
        entries.append(("trials", Number(claim["n_trials"], "n_trials", 0)))
    own = [name for name in checks.SPECIFICATION if claim.get(name) is not None and (name, claim[name]) not in shared]
    entries.append(("specification", _specified([(name, claim[name]) for name in own]) if own else "as said above"))
    query = claim["query"]
    behind = f"{claim['rests_on'] or 'trials'} behind it"
    if not query:
        source = checks.NO_TRIALS
    elif first is not claim:
        source = Markup('as of <a href="#{}">this claim</a>').format(quote(address(first)))
    else:
        source = Markup("<pre>{}</pre>").format(Markup(escape(clean_lines(query), quote=False)))
        if claim["domain"] in dots:
            source += Markup('<a href="#{}">as dots</a>').format(dots[claim["domain"]])
    entries.append((behind, source))
    return entries
