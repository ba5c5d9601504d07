"""The claims ledger: each published number beside what the trials give, down to its specification and its SQL."""

from dataclasses import dataclass

from markupsafe import Markup

from analysis.claims import HOLDS, KINDS, NO_TRIALS, RECOMPUTES, distinct, in_order, unit_and_decimals
from analysis.report.tables import Row, Table
from analysis.report.values import MISSING, Number, clean, clean_lines, key_text

CHECKS = "marts.claim_checks inner join (select distinct claim_id, study from seeds.published_claims) using (claim_id)"
SIGNS = {
    "yes": "✓", "no": "≠", "holds": "✓", "weaker": "?", "contradicted": "✕", "confounded": "⇄",
    "not_derivable": MISSING, "not_checked": MISSING, "not_applicable": MISSING, None: MISSING,
}  # fmt: skip
IN_A_CELL = {
    "confounded": "unlike conditions",
    None: "not judged",
}  # what the code itself does not say under its heading
SPECIFICATION = (
    "quantity", "study", "domain", "technique", "technique_b", "llm", "excluded_llm", "anchor_direction",
    "temperature_scope", "row_set", "baseline_scope", "weighting", "direction_weighting", "baseline_pooling",
    "estimator", "non_null", "method", "derivation", "inputs", "inputs_are", "input_decimals", "recommended_quantity",
    "recommended_method", "recommended_inputs",
)  # fmt: skip


@dataclass(frozen=True)
class Ledger:
    """The claims of a study: how many recompute and how many hold, what can be filtered by, and the rows."""

    summary: Table
    documents: list
    recomputes: list
    holds: list
    n_claims: Number
    n_distinct: Number
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
    once = distinct(claims)
    recomputes, holds = (
        [code for code in said if any(claim[column] == code for claim in claims)]
        for column, said in (("recomputes", RECOMPUTES), ("holds", HOLDS))
    )
    of_both = [("recomputes", code) for code in recomputes] + [("holds", code) for code in holds]
    kinds = [(document, kind) for document in sorted({claim["document"] for claim in once}) for kind in KINDS]
    summary = Table(
        "Printed numbers and sentences, each quantity counted once however often it is printed.",
        CHECKS,
        {"study": study.name, "is_first_place": True},
        ["document", "what", "in all", *(f"{SIGNS[code]} {_labels(column)[code][1]}" for column, code in of_both)],
        [
            Row(
                {"document": document, "kind": kind},
                [
                    document,
                    KINDS[kind][1],
                    Number(len(of), "count(*)", 0),
                    *(
                        Number(sum(claim[column] == code for claim in of), "count(*)", 0, key={column: code})
                        for column, code in of_both
                    ),
                ],
            )
            for document, kind in kinds
            if (of := [claim for claim in once if (claim["document"], claim["kind"]) == (document, kind)])
        ],
        groups=[
            ("", 3),
            ("Can it be had again by the paper's own method?", len(recomputes)),
            ("Does the analysis that we recommend say so?", len(holds)),
        ],
        is_simulated=study.is_simulated,
        name="claims by what is said of them",
    )
    return Ledger(
        summary,
        [clean(document) for document in dict.fromkeys(document for document, _ in kinds)],
        [(code, RECOMPUTES[code][0]) for code in recomputes],
        [(code or "", HOLDS[code][0]) for code in holds if code],
        Number(len(claims), "count(*)", 0, table="seeds.published_claims", key={"study": study.name}),
        Number(len(once), "count(*)", 0, table=CHECKS, key={"study": study.name, "is_first_place": True}),
        Markup("").join(_claim(claim) for claim in in_order(once)),
    )


def _labels(column):
    return {"recomputes": RECOMPUTES, "holds": HOLDS}[column]


def _claim(claim):
    unit, decimals = unit_and_decimals(claim)
    published = claim["published_value"]
    is_exact = abs(published - round(published, decimals)) < 1e-9
    sign = "" if claim["comparison"] == "=" else f"{clean(claim['comparison'])} "
    if claim["kind"] == "sentence":
        sign = f"true if {sign}"

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
        '<tr data-key="{}" data-document="{}" data-recomputes="{}" data-holds="{}">'
        '<th scope="row"><details><summary>{}</summary>{}</details></th>'
        "<td>{}, {}</td><td>{}</td><td>{}</td>"
        '<td class="n">{}{} {}</td><td class="n">{}</td><td class="n">{}{}</td></tr>\n'
    ).format(
        key_text({name: claim[name] for name in ("claim_id", "part") if claim[name]}),
        clean(claim["document"]),
        clean(claim["recomputes"]),
        clean(claim["holds"] or ""),
        clean(claim["statement"]),
        _details(claim),
        clean(claim["document"]),
        clean(claim["location"]),
        _status("recomputes", claim),
        _status("holds", claim),
        sign,
        number("published_value", decimals if is_exact else decimals + 1),
        clean(unit),
        recomputed,
        recommended,
        interval,
    )


def _status(column, claim):
    code = claim[column]
    said = IN_A_CELL.get(code) or code.replace("_", " ")
    return Markup('<span class="status {}">{} {}</span>').format(code or "", SIGNS[code], said)


def _details(claim):
    said = [("claim", Markup("<code>{}</code>").format(clean(claim["claim_id"])))]
    if claim["reason"]:
        said.append(("why", clean(" ".join(claim["reason"].split()))))
    if claim["n_places"] > 1:
        said.append(("printed in", Markup("{} places").format(Number(claim["n_places"], "n_places", 0))))
    if claim["newest_recomputes"] and any(claim[f"newest_{of}"] != claim[of] for of in ("recomputes", "holds")):
        newest = [_labels(of)[claim[f"newest_{of}"]][0] for of in ("recomputes", "holds")]
        said.append(("on the newest version", ", ".join(newest)))
    if claim["n_trials"] is not None:
        said.append(("trials", Number(claim["n_trials"], "n_trials", 0)))
    specification = [
        Markup("<code>{}={}</code>").format(name, clean(claim[name]))
        for name in SPECIFICATION
        if claim.get(name) is not None
    ]
    said.append(("specification", Markup(" ").join(specification) or MISSING))
    query = claim["query"]
    behind = f"{claim['rests_on'] or 'trials'} behind it"
    said.append((behind, Markup("<pre>{}</pre>").format(clean_lines(query)) if query else NO_TRIALS))
    return Markup("<dl>{}</dl>").format(
        Markup("").join(Markup("<dt>{}</dt><dd>{}</dd>").format(name, value) for name, value in said)
    )
