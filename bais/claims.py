"""`bais claims`: which published numbers the trials give again."""

from collections import Counter

import click

from bais.options import format_option
from bais.published import CHECKED, FAILING, PUBLISHED, STATUSES, say_versions, sum_up
from bais.terminal import one_line, pairs, say, say_rows, similar, write_rows
from bais.warehouse import marts, records
from ingest.warehouse import UserError, printable

LISTED = (
    "claim_id", "document", "location", "statement", "unit", "kind", "comparison", "published_value",
    "recomputed_value", "recommended_value", "status", "reason", "n_trials", "version", "newest_value", "newest_status",
)  # fmt: skip


@click.command()
@format_option()
@click.argument("claim_id", required=False, metavar="[CLAIM_ID]", help="everything about one claim")
@click.option("--differs", is_flag=True, help="list each claim that does not hold, and why")
@click.option("--status", type=click.Choice(STATUSES), help="list the claims of one status")
@click.option("--document", help="only the claims of one document, such as A")
def claims(form: str, claim_id: str | None, differs: bool, status: str | None, document: str | None) -> None:
    """Say which published numbers the trials give again; all of them, some, or everything about one."""
    with marts() as warehouse:
        everything = records(
            warehouse,
            "select checks.* replace (concat_ws('/', checks.claim_id, checks.part) as claim_id), claims.decimals, "
            f"claims.study, cited.version_id is not null as has_version from {CHECKED} "
            "left join intermediate.int_versions_cited as cited "
            "on claims.document = cited.document and claims.study = cited.study order by claims.rowid",
        )
        if claim_id:
            checks = {check["claim_id"]: check for check in everything}
            if claim_id not in checks:
                raise UserError(f"there is no claim {printable(claim_id)}{similar(claim_id, list(checks))}")
            _say_claim(warehouse, claim_id, checks, form)
            return
    documents = sorted({check["document"] for check in everything})
    if document and document not in documents:
        raise UserError(f"there are no claims of document {printable(document)}, only of {', '.join(documents)}")
    chosen = [
        check
        for check in everything
        if document in (None, check["document"])
        and status in (None, check["status"])
        and (not differs or check["status"] in FAILING)
    ]
    if differs or status:
        _list_claims(chosen, form)
    else:
        _summarise_claims(chosen, form)


def _summarise_claims(chosen, form):
    counted = Counter((claim["document"], claim["status"]) for claim in chosen)
    if form != "table":
        _write_summary(form, chosen, counted)
        return
    present = [status for status in STATUSES if any(status == of for _, of in counted)]
    rows = [
        (document, *(counted[document, status] for status in present))
        for document in sorted({claim["document"] for claim in chosen})
    ]
    say_rows("table", ["document", *present], rows)
    print()
    say(sum_up(chosen))
    for sentence in say_versions(chosen):
        say(sentence)
    if any(claim["status"] in FAILING for claim in chosen):
        say("`bais claims --differs` lists each that does not hold, and why.")


def _write_summary(form, chosen, counted):
    """Write how many claims have which status, and would have it where the study has gone on from their version."""
    heads = ["document", "status", "n_claims"]
    newest = Counter((claim["document"], claim["newest_status"]) for claim in chosen if claim["newest_status"])
    rows = [[*of, counted[of]] for of in sorted(counted | newest)]
    if newest:
        versions = {claim["document"]: claim["version"] for claim in chosen}
        gone_on = {document for document, _ in newest}
        heads += ["version", "n_on_newest_version"]
        for row in rows:
            document, status, _ = row
            row += [versions[document], newest[document, status] if document in gone_on else None]
    write_rows(form, heads, rows)


def _list_claims(chosen, form):
    if form != "table":
        write_rows(form, LISTED, [[claim[name] for name in LISTED] for claim in chosen])
        return
    for claim in chosen:
        print(f"{printable(claim['claim_id'])}  [{claim['status']}]")
        say(f"Document {claim['document']}, {claim['location']}. {claim['statement']}", "  ")
        say(", ".join(f"{name} {value}" for name, value in _values(claim).items() if value), "  ")
        if claim["reason"]:
            say(one_line(claim["reason"]), "  ")
        print()
    print(f"{len(chosen):,} claim{'' if len(chosen) == 1 else 's'}")


def _values(claim):
    """Return the published, recomputed and recommended value as text, to the digits that the claim gives."""
    decimals = max(claim["decimals"] or 0, 0)
    unit = "" if claim["unit"] in (None, "1") else claim["unit"]

    def text(value, digits):
        if value is None:
            return None
        is_whole = decimals == 0 and abs(value - round(value)) < 1e-9
        return f"{value:,.{0 if is_whole else digits}f} {unit}".strip()

    sign = "" if claim["comparison"] == "=" else f"{claim['comparison']} "
    recommended = text(claim["recommended_value"], decimals + 1)
    if claim["recommended_low"] is not None and claim["recommended_high"] is not None:
        low, high = (text(claim[f"recommended_{end}"], decimals + 1) for end in ("low", "high"))
        recommended += f" (from {low} to {high})"
    published = claim["published_value"]
    is_exact = abs(published - round(published, decimals)) < 1e-9  # a sentence about a place has halves
    recomputed = text(claim["recomputed_value"], decimals + 1)
    said = sign + text(published, decimals if is_exact else decimals + 1)
    return {"published": said, "recomputed": recomputed, "recommended": recommended}


def _on_the_newest(check):
    """Return in words what the claim would be on the newest version."""
    value = _values({**check, "recomputed_value": check["newest_value"]})["recomputed"]
    return ", ".join(filter(None, (value, check["newest_status"])))


def _say_claim(warehouse, claim_id, checks, form):
    (claim,) = records(
        warehouse,
        f"select claims.*, checks.trials_query from marts.claim_trials as checks inner join {PUBLISHED} "
        "where concat_ws('/', checks.claim_id, checks.part) = $claim_id",
        {"claim_id": claim_id},
    )
    check, query = checks[claim_id], claim.pop("trials_query")
    inputs = (claim["inputs"] or "").split()
    not_specified = {*check, "decimals", "inputs", "note", "not_derivable"} - {"study", "quantity"}
    specification = {name: claim[name] for name in claim if claim[name] is not None and name not in not_specified}
    if form != "table":
        whole = {**check, **{name: claim[name] for name in claim if name not in check}, "query": query}
        write_rows(form, list(whole), [list(whole.values())])
        return
    print(printable(claim_id))
    say(f"Document {check['document']}, {check['location']}. {check['statement']}")
    print()
    facts = _values(check) | {
        "status": check["status"],
        "reason": check["reason"],
        "n_trials": None if check["n_trials"] is None else f"{check['n_trials']:,}",
        "version": check["version"],
        "on the newest": check["newest_status"] and _on_the_newest(check),
    }
    print(pairs((name, value) for name, value in facts.items() if value is not None))
    print("\nspecification")
    print(pairs(specification.items(), "  "))
    if inputs:
        print(f"\n{claim['derivation']} of".replace("_", " "))
        rows = [(i, *_values(checks[i]).values()) for i in inputs]
        say_rows("table", ["claim_id", *_values(check)], rows, null="", right=(1, 2, 3))
    print("\ntrials behind it")
    print(query)
