"""The claims ledger: each published number beside what the trials give, down to its specification and its SQL."""

from collections import Counter
from dataclasses import dataclass

from markupsafe import Markup

from analysis.report.tables import Row, Table
from analysis.report.values import MISSING, Number, clean, clean_lines, key_text

CHECKS = "marts.claim_checks inner join (select claim_id, study from seeds.published_claims) using (claim_id)"
STATUSES = ("reproduces", "stands", "differs", "contradicted", "not_established", "not_derivable", "not_checked")
SIGNS = {
    "reproduces": "✓", "stands": "✓", "differs": "≠", "contradicted": "✕", "not_established": "?",
    "not_derivable": MISSING, "not_checked": MISSING,
}  # fmt: skip
SPECIFICATION = (
    "quantity", "study", "domain", "technique", "technique_b", "llm", "excluded_llm", "anchor_direction",
    "temperature_scope", "row_set", "baseline_scope", "weighting", "direction_weighting", "baseline_pooling",
    "estimator", "non_null", "method", "derivation", "inputs", "input_decimals", "recommended_quantity",
    "recommended_method",
)  # fmt: skip


@dataclass(frozen=True)
class Ledger:
    """The claims of a study: how many there are of each status, what can be filtered by, and the rows."""

    summary: Table
    documents: list
    statuses: list
    n_claims: Number
    rows: Markup


def ledger(study):
    """Make the ledger of the claims about a study.

    Parameters
    ----------
    study : Study

    Returns
    -------
    Ledger or None
        None where nobody published anything about the study.
    """
    claims = study.rows("claims")
    if not claims:
        return None
    documents = sorted({claim["document"] for claim in claims})
    counted = Counter((claim["document"], claim["status"]) for claim in claims)
    statuses = [status for status in STATUSES if any(claim["status"] == status for claim in claims)]
    summary = Table(
        "Published numbers and headline sentences, by what the trials say of them.",
        CHECKS,
        {"study": study.name},
        ["document", *(f"{SIGNS[status]} {status.replace('_', ' ')}" for status in statuses), "in all"],
        [
            Row(
                {"document": document},
                [
                    document,
                    *(Number(counted[document, status], "count(*)", 0, key={"status": status}) for status in statuses),
                    Number(sum(counted[document, status] for status in statuses), "count(*)", 0),
                ],
            )
            for document in documents
        ],
        is_simulated=study.is_simulated,
        name="claims by status",
    )
    rows = Markup("").join(_claim(claim) for claim in claims)
    n_claims = Number(len(claims), "count(*)", 0, table="seeds.published_claims", key={"study": study.name})
    return Ledger(summary, documents, [(status, status.replace("_", " ")) for status in statuses], n_claims, rows)


def _claim(claim):
    decimals = max(claim["decimals"] or 0, 0)
    unit = "" if claim["unit"] == "1" else clean(claim["unit"])
    published = claim["published_value"]
    is_exact = abs(published - round(published, decimals)) < 1e-9
    sign = "" if claim["comparison"] == "=" else f"{clean(claim['comparison'])} "
    status = clean(claim["status"])

    def number(column, digits):
        value = claim[column]
        is_whole = decimals == 0 and value is not None and abs(value - round(value)) < 1e-9
        return Number(value, column, 0 if is_whole else digits, reason=claim["reason"])

    interval = ""
    if claim["recommended_low"] is not None and claim["recommended_high"] is not None:
        ends = [number(f"recommended_{end}", decimals + 1) for end in ("low", "high")]
        interval = Markup(" <small>({} to {})</small>").format(*ends)
    recommended = number("recommended_value", decimals + 1)
    recomputed = number("recomputed_value", decimals + 1)
    return Markup(
        '<tr data-key="{}" data-document="{}" data-status="{}">'
        '<th scope="row"><details><summary>{}</summary>{}</details></th>'
        '<td>{}, {}</td><td><span class="status {}">{} {}</span></td>'
        '<td class="n">{}{} {}</td><td class="n">{}</td><td class="n">{}{}</td></tr>\n'
    ).format(
        key_text({"claim_id": claim["claim_id"]}),
        clean(claim["document"]),
        status,
        clean(claim["statement"]),
        _details(claim),
        clean(claim["document"]),
        clean(claim["location"]),
        status,
        SIGNS.get(status, "?"),
        status.replace("_", " "),
        sign,
        number("published_value", decimals if is_exact else decimals + 1),
        unit,
        recomputed,
        recommended,
        interval,
    )


def _details(claim):
    said = [("claim", Markup("<code>{}</code>").format(clean(claim["claim_id"])))]
    if claim["reason"]:
        said.append(("why", clean(" ".join(claim["reason"].split()))))
    if claim["newest_status"] not in (None, claim["status"]):
        said.append(("on the newest version", clean(claim["newest_status"].replace("_", " "))))
    if claim["n_trials"] is not None:
        said.append(("trials", Number(claim["n_trials"], "n_trials", 0)))
    specification = [
        Markup("<code>{}={}</code>").format(name, clean(claim[name]))
        for name in SPECIFICATION
        if claim.get(name) is not None
    ]
    said.append(("specification", Markup(" ").join(specification) or MISSING))
    said.append(("trials behind it", Markup("<pre>{}</pre>").format(clean_lines(claim["query"]))))
    return Markup("<dl>{}</dl>").format(
        Markup("").join(Markup("<dt>{}</dt><dd>{}</dd>").format(name, value) for name, value in said)
    )
