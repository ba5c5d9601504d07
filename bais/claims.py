"""`bais claims`: which published numbers and sentences the trials give again, and which of them hold."""

from collections import Counter
from itertools import islice
from operator import itemgetter
from pathlib import Path

import click

from analysis.words.claims import (
    FAILS,
    HOLDS,
    NO_TRIALS,
    RECOMPUTES,
    SPECIFICATION,
    by_what_is_wrong,
    distinct,
    fails,
    in_order,
    name_of_paper,
    on_missing_versions,
    on_versions,
    power_of_ten,
    reason,
    summary,
    unit_and_decimals,
)
from bais.extract import extract
from bais.options import PATH, WholeNumber, format_option
from bais.terminal import (
    complain,
    fold,
    lay_out,
    one_line,
    pairs,
    reading_width,
    say,
    say_each,
    say_rows,
    similar,
    terminal_width,
    write_rows,
)
from bais.warehouse import marts, records, tables_in
from ingest.warehouse import UserError, printable, warehouse_path

PUBLISHED = (
    "claims.published_claims as claims "
    "on checks.claim_id = claims.claim_id and checks.part is not distinct from claims.part"
)
CHECKED = f"marts.claim_checks as checks inner join {PUBLISHED}"
SHOWN = 10
DIFFERS = 5  # the exit code where a number is not what it should be
LISTED = (
    "claim_id", "document", "location", "statement", "unit", "kind", "comparison", "published_value",
    "recomputed_value", "recommended_value", "recommended_low", "recommended_high", "recomputes", "holds", "how_sure",
    "why", "reason", "describes", "rests_on", "n_places", "n_trials", "version", "newest_value", "newest_recomputes",
    "newest_holds",
)  # fmt: skip
YES_OR_NO = {"yes": "yes", "no": "no", "holds": "yes"}
MOST_LINES = 15  # of the summary


class Claims(click.Command):
    """`bais claims`, and `bais claims extract`, whose first word says so."""

    def make_context(self, info_name, args, parent=None, **extra) -> click.Context:
        """Return the context of the one that is asked for."""
        if args[:1] == [extract.name]:
            return extract.make_context(f"{info_name} {extract.name}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=Claims, epilog="`bais claims extract PAPER --to DIR` begins the folder of any paper.")
@format_option(help=f"on a terminal a table stops at {SHOWN} claims; the others have all")
@click.argument("claim_id", required=False, metavar="[CLAIM_ID]", help="everything about one claim")
@click.option("--all", "every", is_flag=True, help="list every claim, also those with which nothing is wrong")
@click.option("--differs", is_flag=True, help="list what does not recompute or does not hold, most important first")
@click.option(
    "--recomputes", type=click.Choice(list(RECOMPUTES)), help="list those that the paper's method gives, or not"
)
@click.option(
    "--holds",
    type=click.Choice([code for code in HOLDS if code]),
    help="list those of which the analysis we recommend says this",
)
@click.option("--document", help="only the claims of one document, such as A")
@click.option(
    "--paper", type=PATH, metavar="DIR", help="check the paper in a folder of your own against this warehouse"
)
@click.option(
    "--strict",
    is_flag=True,
    help="with --paper: fail too where a numeral is no claim and not set aside, or a claim is not printed",
)
@click.option("--limit", type=WholeNumber(0), metavar="N", help="list at most so many claims")
def claims(
    form: str, claim_id: str | None, every: bool, differs: bool, recomputes: str | None, holds: str | None,
    document: str | None, limit: int | None, paper: Path | None, strict: bool,
) -> None:  # fmt: skip
    """Check published numbers and sentences: does the paper's own method give them again, and are they so."""
    from analysis.tables import declared
    from bais import papers  # with scipy, which help does without

    if strict and not paper:
        raise UserError("--strict is for a paper of one's own: name its folder with --paper")
    if paper and document:
        raise UserError("--paper is of one document: leave --document out")
    if paper:
        document = papers.document_of(paper)
        if not warehouse_path().exists():
            _end(papers.tell_without_a_warehouse(paper, strict))
            return
    with papers.ledger_with(paper) if paper else marts() as warehouse:
        twice = [name for name in declared("published_claims") if name in declared("claim_checks")]
        everything = records(
            warehouse,
            "select checks.* replace (concat_ws('/', checks.claim_id, checks.part) as claim_id), "
            f"claims.* exclude ({', '.join(twice)}), cited.version_id is not null as has_version from {CHECKED} "
            "left join intermediate.int_versions_cited as cited "
            "on claims.document = cited.document and claims.study = cited.study order by claims.rowid",
        )
        names = _names_of_papers(warehouse)
        for check in everything:
            check["reason"], check["paper"] = (
                reason(check),
                names.get(check["document"], f"document {check['document']}"),
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
    wanted = {"document": document, "recomputes": recomputes, "holds": holds}
    chosen = [
        check
        for check in everything
        if all(value in (None, check[column]) for column, value in wanted.items()) and (not differs or fails(check))
    ]
    is_listed = every or differs or recomputes or holds or (paper and form != "table")
    if is_listed:
        _list_claims(distinct(chosen), form, limit)
    elif not paper:
        _summarise_claims(chosen, form, is_of_one=bool(document))
    if paper:
        _end(_tell_of_paper(paper, chosen, strict, complain if is_listed else say))


def _tell_of_paper(folder, chosen, strict, tell):
    """Tell a line for each claim that is not traced and each thing that is wrong with the text; return how many."""
    from bais import papers

    for sentence in on_missing_versions(chosen):
        complain(sentence)
    if n := sum(claim["recomputes"] == "not_derivable" for claim in chosen):
        complain(f"not checked, since their rows say that nothing can give them (not_derivable): {n:,}")
    untraced = [claim for claim in chosen if claim["recomputes"] in ("no", "not_checked")]
    for claim in untraced:
        tell(one_line(f"{claim['claim_id']}, {claim['location']}: {claim['statement']}: {claim['reason']}"))
    read = papers.text_of(folder)
    n_wrong = len(untraced) + papers.tell_what_does_not_fit(read, tell)
    return n_wrong + (papers.tell_what_is_unaccounted_for(folder, read, tell) if strict else 0)


def _end(n_wrong):
    """End with the exit code that says whether something is wrong."""
    if n_wrong:
        click.get_current_context().exit(DIFFERS)


def _names_of_papers(warehouse):
    """Return what each paper is called, by its document."""
    papers = records(warehouse, "from claims.papers") if "papers" in tables_in(warehouse, "claims") else []
    return {paper["document"]: name_of_paper(paper) for paper in papers}


def _summarise_claims(chosen, form, is_of_one):
    """Count what the claims of each paper do, and name the contradicted ones that matter most."""
    if form != "table":
        _write_summary(form, chosen)
        return
    counted, width = distinct(chosen), reading_width()
    print("\n".join(table := _counted(counted, terminal_width())))
    print()
    wrong = [claim for claim in in_order(counted) if claim["holds"] == "contradicted"]
    nth = Counter()
    for claim in wrong:  # the first of each paper, then the second
        nth[claim["document"]] += 1
        claim["nth"] = nth[claim["document"]]
    wrong.sort(key=itemgetter("nth"))
    is_checked = any(claim["recomputes"] in ("yes", "no") for claim in chosen)
    beside = [*(summary(chosen, _downloads()) if is_of_one or not is_checked else ()), *on_versions(chosen)]
    beside += on_missing_versions(chosen)
    say_each(beside)
    left = MOST_LINES - len(table) - 2 - sum(len(fold(printable(sentence), width)) for sentence in beside)
    if wrong:
        say("Contradicted (`bais claims CLAIM_ID` shows one, `--differs` all that is wrong):")
        print("\n".join(_in_a_line(claim, width) for claim in wrong[: max(left, 1)]))
    elif any(fails(claim) for claim in chosen):
        say("`bais claims --differs` lists what is wrong; `bais claims CLAIM_ID` shows one.")


def _counted(claims, width):
    """Return the lines of a table of how many claims of each paper recompute and hold, a row for each paper."""
    papers = dict(sorted((claim["document"], claim["paper"]) for claim in claims))
    of = {document: [claim for claim in claims if claim["document"] == document] for document in papers}
    codes = [code for code in HOLDS if any(claim["holds"] == code for claim in claims)]
    rows = [
        (
            paper if paper.startswith("document ") else f"{document}: {paper}",
            f"{sum(claim['recomputes'] == 'yes' for claim in of[document]):,} of {len(of[document]):,}",
            *(sum(claim["holds"] == code for claim in of[document]) for code in codes),
        )
        for document, paper in papers.items()
    ]
    heads = ["claims", "recompute,\nof all", *("\n".join(HOLDS[code][0].split()) for code in codes)]
    spare = [place for place, code in enumerate(codes, 2) if code in ("not_applicable", None)]
    return lay_out(heads, rows, width=width, right=[1], spare=spare).splitlines()


def _in_a_line(claim, width):
    """Say of a claim what it should be and what it says, as far as a line goes."""
    recommended = None if claim["unit"] == "sign" else _values(claim)["recommended"]
    ours = f"{recommended.partition(' (')[0]}, but " if recommended else ""
    line = printable(f"{claim['claim_id']}: {ours}{one_line(claim['statement'])}")
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _downloads():
    """Return the names by which archives can be fetched, by the studies that they are of."""
    from ingest.bring.published import published

    return {archive.form: name for name, archive in published().items()}


def _write_summary(form, chosen):
    """Write how many claims are of each kind, and would be where the study has gone on from their version."""
    heads = ["document", "kind", "recomputes", "holds", "n_places", "n_distinct"]
    once = distinct(chosen)
    n_places, n_distinct = (Counter(map(itemgetter(*heads[:4]), group)) for group in (chosen, once))
    on_newest = itemgetter("document", "kind", "newest_recomputes", "newest_holds")
    newest = Counter(on_newest(claim) for claim in once if claim["newest_recomputes"])
    rows = [[*key, n_places[key], n_distinct[key]] for key in sorted(n_places | newest, key=str)]
    if newest:
        versions = {claim["document"]: claim["version"] for claim in chosen}
        gone_on = {document for document, *_ in newest}
        heads += ["version", "n_on_newest_version"]
        for row in rows:
            row += [versions[row[0]], newest[tuple(row[:4])] if row[0] in gone_on else None]
    write_rows(form, heads, rows)


def _list_claims(chosen, form, limit):
    if form != "table":
        write_rows(form, LISTED, [[claim[name] for name in LISTED] for claim in islice(in_order(chosen), limit)])
        return
    if limit is None and terminal_width() is not None:
        limit = SHOWN
    left = len(chosen) if limit is None else limit
    shown = min(left, len(chosen))
    for wrong, group in by_what_is_wrong(chosen):
        say(f"{wrong}: {len(group):,}" + ("" if left else " (not shown)"))
        print(end="\n" if left else "")
        for claim in group[:left]:
            _say_listed(claim)
        left -= len(group[:left])
    more = f", {shown:,} of them shown; --limit N shows more, --format csv all" if shown < len(chosen) else ""
    print(f"{len(chosen):,} claim{'' if len(chosen) == 1 else 's'}{more}")


def _say_listed(claim):
    """Say of a claim in a list where it is printed, the three numbers, and why."""
    others = claim["n_places"] - 1
    again = f", also printed in {others:,} other place{'s' * (others > 1)}" if others else ""
    say(one_line(claim["statement"]), "  ")
    say(f"{claim['claim_id']}: {claim['paper']}, {claim['location']}{again}", "    ")
    values = _values(claim)
    if claim["holds"] in FAILS["holds"]:
        del values["recommended"]  # the reason says it, with what it means
    say(", ".join(f"{name} {value}" for name, value in values.items() if value), "    ")
    if claim["reason"]:
        say(one_line(claim["reason"]), "    ")
    print()


def _values(claim):
    """Return what is printed, recomputed and recommended as text, to the digits that the claim gives.

    A sentence prints no number: it is true if the number lies on one side of a limit.
    """
    unit, decimals = unit_and_decimals(claim)

    def text(value, digits):
        if value is None:
            return None
        if claim["unit"] == "yes or no":
            return "so" if value > 0 else "not so"
        if claim["unit"] == "sign":
            return "+" if value > 0 else "-" if value < 0 else "0"
        is_whole = decimals == 0 and abs(value - round(value)) < 1e-9
        if power := power_of_ten(value, decimals):
            return f"{value:.{max(digits + power, 0)}e} {unit}".strip()
        if 0 < abs(value) < 0.5 * 10.0**-digits:
            return f"below {10.0**-digits:.{digits}f} {unit}".strip()
        return f"{value:,.{0 if is_whole else digits}f} {unit}".strip()

    sign = "" if claim["comparison"] == "=" else f"{claim['comparison']} "
    recommended = text(claim["recommended_value"], decimals + 1)
    recomputed = text(claim["recomputed_value"], decimals + 1)
    if claim["unit"] == "yes or no":
        return {"true if": "so", "by the paper's method": recomputed, "recommended": recommended}
    ends = [text(claim[f"recommended_{end}"], decimals + 1) for end in ("low", "high")]
    if None not in ends:
        recommended += f" ({' to '.join(end.removesuffix(f' {unit}') for end in ends)})"
    published = claim["published_value"]
    is_exact = abs(published - round(published, decimals)) < 1e-9  # a sentence about a place has halves
    printed = sign + text(published, decimals if is_exact else decimals + 1)
    name = "true if" if claim["kind"] == "sentence" else "printed"
    if claim["unit"] == "rank":
        printed = printed.replace("< ", "the place is below ").replace("> ", "the place is above ")
    return {name: printed, "by the paper's method": recomputed, "recommended": recommended}


def _on_the_newest(check):
    """Return in words what the claim would be on the newest version."""
    _, value, _ = _values({**check, "recomputed_value": check["newest_value"]}).values()
    words = [RECOMPUTES[check["newest_recomputes"]][0], HOLDS[check["newest_holds"]][0]]
    return ", ".join(filter(None, (value, *words)))


def _say_claim(warehouse, claim_id, checks, form):
    (claim,) = records(
        warehouse,
        f"select claims.*, checks.trials_query from claims.claim_trials as checks right join {PUBLISHED} "
        "where concat_ws('/', claims.claim_id, claims.part) = $claim_id",
        {"claim_id": claim_id},
    )
    check, query = checks[claim_id], claim.pop("trials_query")
    inputs = (claim["inputs"] or "").split()
    specified = {name: claim[name] for name in SPECIFICATION if name != "inputs" and claim[name] is not None}
    if form != "table":
        whole = {**check, "query": query}
        write_rows(form, list(whole), [list(whole.values())])
        return
    print(printable(claim_id))
    say(f"{check['paper'][0].upper()}{check['paper'][1:]}, {check['location']}. {check['statement']}")
    print()
    facts = _values(check) | {
        "recomputes": YES_OR_NO.get(check["recomputes"]) or RECOMPUTES[check["recomputes"]][0],
        "holds": YES_OR_NO.get(check["holds"]) or HOLDS[check["holds"]][0],
        "why": check["reason"],
        "trials": None if check["n_trials"] is None else f"{check['n_trials']:,}",
        "printed in": f"{check['n_places']:,} places" if check["n_places"] > 1 else None,
        "version": check["version"],
        "on the newest": check["newest_recomputes"] and _on_the_newest(check),
    }
    print(pairs((name, value) for name, value in facts.items() if value is not None))
    print("\nspecification")
    print(pairs(specified.items(), "  "))
    if inputs:
        are_printed = check["rests_on"] == "printed numbers"
        origin = "the printed numbers" if are_printed else f"what the {check['rests_on']} give for"
        print(f"\n{claim['derivation']} of {origin}".replace("_", " "))
        rows = [(i, *_values(checks[i]).values()) for i in inputs]
        say_rows("table", ["claim_id", *_values(check)], rows, null="", right=(1, 2, 3))
    print(f"\n{check['rests_on']} behind it" if query else f"\n{NO_TRIALS}")
    if query:
        print(query)
