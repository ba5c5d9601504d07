"""The `bais` command: land trials, build the warehouse, and ask it."""

import argparse
import contextlib
import os
import re
import sys
from pathlib import Path

from bais.terminal import first_sentence as _first_sentence
from bais.terminal import lay_out, write_rows
from bais.terminal import one_line as _one_line
from bais.terminal import pairs as _pairs
from bais.terminal import paragraph as _paragraph
from bais.terminal import similar as _similar
from bais.terminal import terminal_width as _width
from bais.warehouse import count as _count
from bais.warehouse import interruptible as _interruptible
from bais.warehouse import marts as _marts
from bais.warehouse import public_tables as _public_tables
from bais.warehouse import quoted as _quoted
from bais.warehouse import records as _records
from bais.warehouse import refuse_to_write as _refuse_to_write
from bais.warehouse import stream as _stream
from ingest.warehouse import ROOT, UserError, connect, printable, warehouse_path

PUBLIC_SCHEMAS = ("marts", "inference")
NOT_TEXT = "the query is not UTF-8 text"
FORMATS = ("table", "csv", "json")
FAILING = ("differs", "contradicted", "not_established", "not_derivable")
STATUSES = ("reproduces", "stands", *FAILING, "not_checked")

# On a terminal a table is for reading; the other formats give everything.
MOST_ROWS = 500
MOST_CHARACTERS = 300
NARROWEST_TEXT = 14
WIDEST_WORD = 36
WIDEST_PARAGRAPH = 100

EXPLAIN = re.compile(
    r"^(\s|--[^\n]*\n|/\*.*?\*/)*explain\b(\s+analyze\b|\s*\([^)]*\))*", flags=re.IGNORECASE | re.DOTALL
)

IMPORT_FIRST = (
    "import its archive with `bais import DIR`, or fetch it with `bais import --download`, then run `bais build`"
)

EXIT_CODES = """
exit codes: 0 done, 1 dbt found a failure (or --strict did), 2 bad usage or nothing usable, 3 imported with lines
quarantined, 4 no LLM answered, 5 a report holds what its analysis does not, 6 the gate failed a batch, 130
interrupted, all kept. The
warehouse is data/bais.duckdb of the checkout, or what BAIS_WAREHOUSE names.
"""


def _parser():
    parser = argparse.ArgumentParser(prog="bais", description=__doc__, epilog=EXIT_CODES, allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name, run, summary, **formats):
        made = commands.add_parser(name, help=summary, description=f"{summary}.", allow_abbrev=False)
        made.set_defaults(run=run)
        if formats:
            made.add_argument("--format", default="table", **formats)
        return made

    from bais_doctor import add_doctor_commands
    from bais_experiment import add_protocol_argument, add_run_arguments, analyze, render, run, show
    from bais_paper import add_paper_arguments, paper
    from bais_report import add_report_arguments, report
    from ingest.run import add_collect_arguments, add_import_arguments

    planned = command("plan", plan, "say what a study will ask and cost, before anything is asked")
    planned.add_argument("study", metavar="STUDY", help="a study file, or the name of a shipped study")
    planned.add_argument("--json", action="store_true", help="as JSON, with every digit")
    collected = command("collect", collect, "ask the LLMs of a study what is still missing, and load the answers")
    collected.add_argument("study", metavar="STUDY", help="a study file, or the name of a shipped study")
    collected.add_argument("--no-load", action="store_true", help="leave the warehouse as it is")
    add_collect_arguments(collected)
    add_run_arguments(command("run", run, "put an experiment to an LLM, analyse it and have its report written"))
    shown = command("show", show, "print the definition of an experiment or a study")
    shown.add_argument("study", metavar="STUDY", help="an experiment, a study file, or the name of a shipped study")
    add_protocol_argument(shown)
    rendered = command("render", render, "print what an LLM is told, word for word")
    rendered.add_argument("study", metavar="STUDY", help="an experiment, a study file, or the name of a shipped study")
    rendered.add_argument("--condition", metavar="ID", help="such as low-anchor-3mo, where the anchors are fixed")
    rendered.add_argument("--vignette", metavar="NAME", help="one of the study's (default: its first)")
    rendered.add_argument("--technique", metavar="NAME", help="one of the study's (default: its first)")
    rendered.add_argument("--anchor", type=float, metavar="X", help="the number to plant (default: none)")
    add_protocol_argument(rendered)
    analyzed = command("analyze", analyze, "analyse the results of an experiment that are in a file")
    analyzed.add_argument("results", type=Path, metavar="PATH", help="JSON lines, as `bais run` writes them")
    analyzed.add_argument("--analysis", type=Path, metavar="PATH", help="where it goes (default: stdout)")
    analyzed.add_argument("--seed", type=int, default=1, metavar="S", help="of the bootstrap (default: 1)")
    imported = command("import", import_, "land recorded trials in the warehouse")
    imported.add_argument(
        "archive", nargs="?", metavar="PATH", type=Path, help="a file of recorded trials, or a folder"
    )
    add_import_arguments(imported)
    exported = command("export", export, "write the public tables to files that others can read, cite and import")
    exported.add_argument("folder", metavar="DIR", type=Path, help="the folder to write; it is made")
    exported.add_argument(
        "--format", choices=("parquet", "csv", "jsonl"), default="parquet", help="default: %(default)s"
    )
    exported.add_argument("--study", metavar="S", help="only this study")
    exported.add_argument("--force", action="store_true", help="replace an earlier export in DIR")
    command("build", build, "derive and test every table with dbt; takes the arguments of `dbt build`")
    asked = command(
        "sql", sql, "ask the warehouse in SQL, read-only; without a query a prompt, or the query on stdin",
        choices=(*FORMATS, "parquet"),
        help=f"on a terminal a table stops at {MOST_ROWS} rows and {MOST_CHARACTERS} characters a cell; "
        "elsewhere, and in the other formats, nothing is left out",
    )  # fmt: skip
    asked.add_argument("query", nargs="?", metavar="QUERY")
    listed = command("tables", tables, "list the public tables, or the columns of one", choices=FORMATS)
    listed.add_argument("name", nargs="?", metavar="NAME", help="such as baselines or marts.baselines")
    checked = command("claims", claims, "say which published numbers the trials give again", choices=FORMATS)
    checked.add_argument("claim_id", nargs="?", metavar="CLAIM_ID", help="everything about one claim")
    checked.add_argument("--differs", action="store_true", help="list each claim that does not hold, and why")
    checked.add_argument("--status", choices=STATUSES, help="list the claims of one status")
    checked.add_argument("--document", help="only the claims of one document, such as A")
    first = command("headlines", headlines, "say which technique comes first in each domain, by either metric")
    first.add_argument("--study", help="only this study")
    add_report_arguments(
        command(
            "report",
            lambda options: report(options, trials_query, _basis),
            "write what the warehouse knows as one HTML page that needs no network",
        )
    )
    add_paper_arguments(command("paper", paper, "have the paper on a study written, from the warehouse alone"))
    add_doctor_commands(command)
    return parser


def import_(options):
    """Land recorded trials in `raw`, as `python ingest/run.py` does."""
    from ingest.run import run

    if not options.archive and not options.download:
        raise UserError("there is nothing to import: name a file or a folder of recorded trials, or give --download")
    if options.archive and options.download:
        raise UserError("give a path or --download, not both")
    return run(options)


def collect(options):
    """Collect what is missing of a study, and load it, as `python ingest/run.py STUDY` does."""
    from ingest.run import collect_study

    return collect_study(options.study, options, loads=not options.no_load)


def plan(options):
    """Say what a study will ask, how long that takes and what it costs, and what is there already."""
    import json

    from ingest.plan import plan_of
    from ingest.study import load_study

    planned = plan_of(load_study(options.study))
    if options.json:
        print(json.dumps(planned, indent=2))
    else:
        _print_plan(planned)
    return 0


def _print_plan(planned):
    grid, found = planned["grid"], planned["collected"]
    simulated = " (SIMULATED respondents, no LLM is asked)" if planned["are_simulated"] else ""
    print(_paragraph(f"Study {planned['study']}: {planned['description']}{simulated}"))
    rule = grid["stopping_rule"]
    more = f", up to {rule['maximum']} where the SD of these exceeds {rule['sd_above']:g}" if "maximum" in rule else ""
    anchors = [f"{kind} {ends['low']:g} and {ends['high']:g}" for kind, ends in grid["anchors"].items()]
    temperatures = ["the endpoint's own" if t is None else f"{t:g}" for t in grid["temperatures"]]
    told = [
        ("LLMs", ", ".join(grid["llms"])),
        ("vignettes", ", ".join(grid["vignettes"])),
        ("techniques", ", ".join(grid["techniques"])),
        ("anchors", ", ".join(anchors)),
        ("temperatures", ", ".join(temperatures)),
        ("trials a cell", f"{rule['minimum']}{more}"),
        ("cells", f"{planned['cells']['baseline']:,} without anchor, {planned['cells']['anchored']:,} of techniques"),
        ("order seed", str(grid["order_seed"])),
    ]
    print(_pairs(told, indent="  "))
    print()
    columns = ("trials", "calls", "tokens_in", "tokens_out", "cost_usd")
    rows = [
        (name, f"{of['cells']:,}", *(_from_to(of[column], column == "cost_usd") for column in columns))
        for name, of in [
            *((of["technique"], of) for of in planned["techniques"]),
            *((of["llm"], of) for of in planned["llms"]),
            ("in all", {**planned, "cells": sum(planned["cells"].values())}),
        ]
    ]
    heads = ["technique, then LLM", "cells", "trials", "calls", "tokens in", "tokens out", "USD"]
    print(lay_out(heads, rows, width=_width(), right=range(1, 7)))
    print()
    pace = f"{planned['limits']['concurrency']} calls at a time, {_from_to(planned['seconds_per_call'], True)} s a call"
    print(_paragraph(f"Hours: {_from_to(planned['hours'], True)} ({pace})"))
    if planned["without_price"]:
        print(_paragraph(f"No price is known of {', '.join(planned['without_price'])}: add it to seeds/prices.csv."))
    print(_paragraph(f"Assumed: {planned['assumptions']}. Prices: seeds/prices.csv, with date and source."))
    others = f", {found['trials_of_other_plans']:,} of other versions of it" if found["trials_of_other_plans"] else ""
    print(
        _paragraph(
            f"Collected so far: {found['trials']:,} trials of this plan{others}; {found['calls']:,} calls, "
            f"{found['cost_usd']:.4f} USD"
        )
    )


def _from_to(ends, has_fraction=False):
    """Write a range, or one number where both ends are the same."""
    if None in ends.values():
        return "unknown"
    low, high = (f"{ends[end]:,.2f}" if has_fraction else f"{ends[end]:,.0f}" for end in ("low", "high"))
    return low if low == high else f"{low} to {high}"


def export(options):
    """Write the public tables, and the raw ones that they come from, to files."""
    from bais_export import export as write

    return write(options)


def build(options):
    """Run `dbt build` on the whole project, unless another process is using the warehouse."""
    import subprocess

    path = warehouse_path()
    if path.exists():
        connect(path, read_only=False).close()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    environment = {"DBT_PROFILES_DIR": str(ROOT / "profiles"), **os.environ, "BAIS_WAREHOUSE": str(path)}
    run_dbt = "from dbt.cli.main import cli; cli(prog_name='dbt')"
    command = [sys.executable, "-c", run_dbt, "--quiet", "build", *options.of_dbt]
    dbt = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        code = dbt.wait()
    except KeyboardInterrupt:
        dbt.wait()  # dbt got the interrupt too, and cancels what it runs
        raise
    return code if code >= 0 else 128 - code


def sql(options):
    """Answer a query, those on stdin, or those typed at a prompt."""
    if options.query is None and sys.stdin.isatty() and sys.stdout.isatty():
        return _prompt(options.format)
    try:
        query = sys.stdin.read() if options.query is None else options.query
    except UnicodeError:
        raise UserError(NOT_TEXT) from None
    if not query.strip():
        raise UserError('there is no query: give one, as in bais sql "from marts.baselines"')
    answer(query, options.format)
    return 0


def answer(query, form):
    """Run SQL that reads and write what it gives to stdout.

    Parameters
    ----------
    query : str
        One statement, or several if `form` is "table".
    form : {"table", "csv", "json", "parquet"}

    Raises
    ------
    UserError
        If a statement would write, is wrong, or does not suit the format.
    """
    import duckdb
    import pyarrow as pa

    if form == "parquet" and sys.stdout.isatty():
        raise UserError(
            "parquet is bytes, not text: send it to a file, as in `bais sql … --format parquet > answer.parquet`"
        )
    if any("\ud800" <= c <= "\udfff" for c in query):
        raise UserError(NOT_TEXT)
    with contextlib.closing(connect()) as warehouse:
        try:
            statements = warehouse.extract_statements(query)
            if not statements:
                raise UserError("there is no statement in the query")
            for statement in statements:
                _refuse_to_write(warehouse, statement)
            if form != "table" and len(statements) != 1:
                raise UserError(
                    f"{form} holds one answer, and these are {len(statements)} statements: give them one by one"
                )
            for statement in statements:
                _answer_one(warehouse, statement, form)
        except (duckdb.Error, pa.ArrowException) as error:
            raise UserError(_explain_sql(error, warehouse)) from None


def _answer_one(warehouse, statement, form):
    from itertools import islice

    if form == "parquet":
        from pyarrow.parquet import write_table

        table = _interruptible(warehouse, lambda: warehouse.sql(statement.query).to_arrow_table())
        write_table(table, sys.stdout.buffer)
        return
    result = _interruptible(warehouse, lambda: warehouse.execute(statement))
    names = [column[0] for column in result.description]
    if form != "table":
        write_rows(form, names, _stream(warehouse, result))
        return
    width = _width()
    rows = list(islice(_stream(warehouse, result), None if width is None else MOST_ROWS + 1))
    if names == ["explain_key", "explain_value"]:
        print("\n".join(map(printable, "\n".join(plan for _, plan in rows).splitlines())))
        return
    shown = rows if width is None else rows[:MOST_ROWS]
    print(lay_out(names, shown, width=width))
    sys.stdout.flush()
    left_out = f"the first {len(shown):,} rows; --format csv gives all" if len(shown) < len(rows) else ""
    print(left_out or f"{len(rows):,} row{'' if len(rows) == 1 else 's'}", file=sys.stderr)


def _explain_sql(error, warehouse):
    """Keep DuckDB's message and the line with the caret, and say where the tables are."""
    text = str(error)
    lines = [printable(line) for line in text.splitlines() if line.strip() and not line.startswith("\t")]
    lines = lines[:8]
    if re.search(r"Table with name .* does not exist", text):
        has_marts = _public_tables(warehouse)
        lines.append("`bais tables` lists the tables." if has_marts else "There are no marts yet: run `bais build`.")
    return "\n".join(lines)


def _prompt(form):
    """Read statements and answer them until Ctrl-D; the warehouse is open only while one of them runs."""
    connect().close()
    with _history(warehouse_path().with_name(".sql_history")):
        print(f"Reading {printable(warehouse_path())}. A query ends with `;`, `.tables` lists tables, `.quit` leaves.")
        typed = ""
        while True:
            try:
                line = input("  ... " if typed else "bais> ")
                if not typed and line.strip().startswith("."):
                    if line.strip() in (".quit", ".exit"):
                        return 0
                    _dot_command(line.strip())
                    continue
                typed = f"{typed}\n{line}".strip()
                if _is_complete(typed):
                    query, typed = typed, ""
                    answer(query, form)
            except EOFError:
                print()
                return 0
            except KeyboardInterrupt:
                typed = ""
                print()
            except UnicodeError:
                print(f"bais: {NOT_TEXT}", file=sys.stderr)
            except UserError as error:
                print(f"bais: {error}", file=sys.stderr)


def _dot_command(line):
    if line != ".tables":
        raise UserError(f"there is no {line}: only .tables and .quit")
    _list_tables("table")


def _is_complete(typed):
    """Tell whether the last thing typed is a semicolon outside of quotes and comments."""
    rest = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", " ", typed, flags=re.DOTALL)
    return rest.rstrip().endswith(";") and not re.search(r"['\"]|/\*", rest)


@contextlib.contextmanager
def _history(path):
    try:
        import readline
    except ImportError:
        yield
        return
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(1000)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(path)


def tables(options):
    """List the public tables, or the columns of one."""
    if options.name:
        return _describe(options.name, options.format)
    return _list_tables(options.format)


def _list_tables(form):
    with _marts() as warehouse:
        rows = [
            (f"{schema}.{name}", _count(warehouse, schema, name), _first_sentence(comment))
            for schema, name, comment in _public_tables(warehouse)
        ]
    if form == "table":
        print(lay_out(["table", "rows", "grain"], rows, width=_width(), null=""))
    else:
        write_rows(form, ["table", "rows", "grain"], rows)
    return 0


def _describe(asked, form):
    with _marts() as warehouse:
        public = _public_tables(warehouse)
        found = [(s, n, comment) for s, n, comment in public if asked.lower() in (n.lower(), f"{s}.{n}".lower())]
        if not found:
            names = [f"{schema}.{name}" for schema, name, _ in public]
            raise UserError(
                f"there is no public table {printable(asked)}{_similar(asked, names)}: `bais tables` lists them"
            )
        schema, name, comment = found[0]
        n_rows = _count(warehouse, schema, name)
        columns = warehouse.execute(
            "select column_name, lower(data_type), comment from duckdb_columns() "
            "where database_name = current_database() and schema_name = ? and table_name = ? order by column_index",
            [schema, name],
        ).fetchall()
    if form != "table":
        write_rows(form, ["column", "type", "definition"], columns)
        return 0
    rows = [(column, kind, _one_line(definition)) for column, kind, definition in columns]
    print(_paragraph(f"{schema}.{name}, {n_rows:,} rows. {_one_line(comment) or ''}".strip()))
    print()
    print(lay_out(["column", "type", "definition"], rows, width=_width(), null=""))
    return 0


def claims(options):
    """Say which published numbers the trials give again; all of them, some, or everything about one."""
    with _marts() as warehouse:
        everything = _records(
            warehouse,
            "select checks.*, claims.decimals, claims.study from marts.claim_checks as checks "
            "left join seeds.published_claims as claims using (claim_id)",
        )
        order = [row["claim_id"] for row in _records(warehouse, "select claim_id from seeds.published_claims")]
        known = {claim["claim_id"]: claim for claim in everything}
        everything = [known[claim_id] for claim_id in order if claim_id in known]
        if options.claim_id:
            if options.claim_id not in order:
                raise UserError(f"there is no claim {printable(options.claim_id)}{_similar(options.claim_id, order)}")
            return _one_claim(warehouse, known, options.claim_id, options.format)
    chosen = _choose(everything, options)
    if options.differs or options.status:
        _list_claims(chosen, options.format)
    else:
        _summarise_claims(chosen, options.format)
    return 0


def _choose(everything, options):
    documents = sorted({claim["document"] for claim in everything})
    if options.document and options.document not in documents:
        raise UserError(
            f"there are no claims of document {printable(options.document)}, only of {', '.join(documents)}"
        )
    return [
        claim
        for claim in everything
        if options.document in (None, claim["document"])
        and options.status in (None, claim["status"])
        and (not options.differs or claim["status"] in FAILING)
    ]


def _summarise_claims(chosen, form):
    from collections import Counter

    counted = Counter((claim["document"], claim["status"]) for claim in chosen)
    if form != "table":
        rows = [(document, status, n) for (document, status), n in sorted(counted.items())]
        write_rows(form, ["document", "status", "n_claims"], rows)
        return
    present = [status for status in STATUSES if any(status == of for _, of in counted)]
    rows = [
        (document, *(counted[document, status] for status in present))
        for document in sorted({claim["document"] for claim in chosen})
    ]
    print(lay_out(["document", *present], rows, width=_width()))
    print()
    print(_paragraph(sum_up(chosen)))
    if any(claim["status"] in FAILING for claim in chosen):
        print(_paragraph("`bais claims --differs` lists each that does not hold, and why."))


def sum_up(chosen):
    """Say in a sentence or two how many claims hold.

    Parameters
    ----------
    chosen : list of dict
        With `kind`, `status` and `study`, as in `marts.claim_checks` and `seeds.published_claims`.

    Returns
    -------
    str
    """
    n_open = sum(claim["status"] == "not_checked" for claim in chosen)
    studies = " and ".join(
        sorted({claim["study"] for claim in chosen if claim["status"] == "not_checked" and claim["study"]})
    )
    if not any(claim["status"] not in ("not_checked", "not_derivable") for claim in chosen):
        return (
            f"None of the {len(chosen):,} published claims can be checked: this warehouse lacks trials of the "
            f"study {studies}. To check them, {IMPORT_FIRST}."
        )
    parts = []
    for kind, noun, good, others in (
        ("value", "published number", ("reproduces", "reproduce"), (("differs", "differs", "differ"),)),
        (
            "sentence",
            "headline sentence",
            ("stands", "stand"),
            (("contradicted", "is contradicted", "are contradicted"),),
        ),
    ):
        of_kind = [claim["status"] for claim in chosen if claim["kind"] == kind]
        others += (
            ("not_established", "is not established", "are not established"),
            ("not_derivable", "cannot be derived from the trials", "cannot be derived from the trials"),
        )
        if of_kind:
            n_good = of_kind.count(good[0])
            words = [f"{n_good:,} of {len(of_kind):,} {noun}s {good[n_good != 1]}"]
            words += [f"{n:,} {many if n > 1 else one}" for status, one, many in others if (n := of_kind.count(status))]
            parts.append(", ".join(words[:-1]) + " and " + words[-1] if len(words) > 2 else ", ".join(words))
    unchecked = f" {n_open:,} could not be checked." if n_open else ""
    return "; ".join(parts) + "." + unchecked


def _list_claims(chosen, form):
    names = [
        "claim_id", "document", "location", "statement", "unit", "kind", "comparison", "published_value",
        "recomputed_value", "recommended_value", "status", "reason", "n_trials",
    ]  # fmt: skip
    if form != "table":
        write_rows(form, names, [[claim[name] for name in names] for claim in chosen])
        return
    for claim in chosen:
        published, recomputed, recommended = _values(claim)
        print(f"{printable(claim['claim_id'])}  [{claim['status']}]")
        print(_paragraph(f"Document {claim['document']}, {claim['location']}. {claim['statement']}", "  "))
        values = {"published": published, "recomputed": recomputed, "recommended": recommended}
        print(_paragraph(", ".join(f"{name} {value}" for name, value in values.items() if value), "  "))
        if claim["reason"]:
            print(_paragraph(_one_line(claim["reason"]), "  "))
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
    return sign + text(published, decimals if is_exact else decimals + 1), recomputed, recommended


def _one_claim(warehouse, checks, claim_id, form):
    published = {row["claim_id"]: row for row in _records(warehouse, "select * from seeds.published_claims")}
    claim, check = published[claim_id], checks[claim_id]
    inputs = (claim["inputs"] or "").split()
    query = trials_query([published[i] for i in _basis(claim_id, published)])
    not_specified = {*check, "decimals", "inputs", "note", "not_derivable"} - {"study", "quantity"}
    specification = {name: claim[name] for name in claim if claim[name] is not None and name not in not_specified}
    if form != "table":
        whole = {**check, **{name: claim[name] for name in claim if name not in check}, "query": query}
        write_rows(form, list(whole), [list(whole.values())])
        return 0
    values = _values(check)
    print(printable(claim_id))
    print(_paragraph(f"Document {check['document']}, {check['location']}. {check['statement']}"))
    print()
    facts = dict(zip(("published", "recomputed", "recommended"), values, strict=True)) | {
        "status": check["status"],
        "reason": check["reason"],
        "n_trials": None if check["n_trials"] is None else f"{check['n_trials']:,}",
    }
    print(_pairs((name, value) for name, value in facts.items() if value is not None))
    print("\nspecification")
    print(_pairs(specification.items(), "  "))
    if inputs:
        print(f"\n{claim['derivation']} of".replace("_", " "))
        rows = [(i, *_values(checks[i])) for i in inputs]
        print(
            lay_out(
                ["claim_id", "published", "recomputed", "recommended"], rows, width=_width(), null="", right=(1, 2, 3)
            )
        )
    print("\ntrials behind it")
    print(query)
    return 0


def _basis(claim_id, published):
    """Return the ids of the claims that are computed from trials and that a claim rests on, itself or its inputs'."""
    inputs = (published[claim_id]["inputs"] or "").split()
    if not inputs:
        return [claim_id]
    return list(dict.fromkeys(basis for i in inputs for basis in _basis(i, published)))


def trials_query(of):
    """Write the SQL that lists the trials behind claims.

    Parameters
    ----------
    of : list of dict
        Rows of `seeds.published_claims`, none of them derived.

    Returns
    -------
    str
        On `marts.trials`, and on what was quarantined where a claim counts it; a condition that all claims share is
        there once.
    """
    each = list(dict.fromkeys(tuple(_conditions(claim)) for claim in of))
    shared = [condition for condition in each[0] if all(condition in conditions for conditions in each)]
    rest = [[condition for condition in conditions if condition not in shared] for conditions in each]
    where = list(shared)
    if all(rest):
        lines = [" and ".join(conditions) for conditions in rest]
        where.append(
            "(\n        " + "\n        or ".join(f"({line})" if " and " in line else line for line in lines) + "\n    )"
        )
    both = "(from marts.trials union all by name from marts.quarantined_trials)"
    source = both if any(claim["row_set"] == "as_recorded" for claim in of) else "marts.trials"
    return (
        "select trial_id, llm, technique, anchor_direction, temperature, status, response_recorded, first_response, "
        f"baseline\nfrom {source}\nwhere\n    "
        + "\n    and ".join(where)
        + "\norder by llm, technique, anchor_direction;"
    )


def _conditions(claim):
    """Return the conditions on `marts.trials` that pick the trials of a claim."""
    quantity, technique = claim["quantity"], claim["technique"]
    of_baseline = quantity.startswith(("baseline", "sd_population", "sd_response")) or quantity.endswith(
        "_with_baseline"
    )
    for name in ("study", "domain", "llm"):
        if claim[name] is not None:
            yield f"{name} = {_quoted(claim[name])}"
    if claim["excluded_llm"]:
        yield f"llm != {_quoted(claim['excluded_llm'])}"
    if of_baseline:
        yield "technique = 'no_technique'"
    elif claim["technique_b"]:
        yield f"technique in ({_quoted(technique)}, {_quoted(claim['technique_b'])})"
    elif _compares_techniques(claim):
        or_none = " or technique = 'no_technique'" if "no_technique" in quantity else ""
        among = "technique in (select technique from seeds.techniques where is_ranked)"
        yield f"({among}{or_none})" if or_none else among
    elif quantity == "spread_change_percent" or quantity.startswith("gain_by"):
        yield f"technique in ({_quoted(technique)}, 'no_technique')"
    elif technique == "sacd_initial":
        yield "technique = 'sacd'"
    elif technique not in (None, "all"):
        yield f"technique = {_quoted(technique)}"
    direction = "none" if of_baseline else claim["anchor_direction"]
    if direction == "both":
        yield "anchor_direction in ('low', 'high')"
    elif direction not in (None, "all"):
        yield f"anchor_direction = {_quoted(direction)}"
    if claim["temperature_scope"] not in (None, "pooled"):
        yield f"temperature = {claim['temperature_scope']}"
    if not quantity.startswith(("iterations", "calls")):
        initial = technique == "sacd_initial"
        yield (
            "status = 'answered'"
            if claim["row_set"] == "accepted"
            else f"{'first_response' if initial else 'response_recorded'} is not null"
        )
    if claim["non_null"] == "both" and technique == "sacd":
        yield "first_response is not null"
    if claim["baseline_scope"] and claim["estimator"] != "ratio_of_file_means":  # that one takes every LLM in
        yield "baseline is not null"


def _compares_techniques(claim):
    """Whether a claim's quantity is computed from all ranked techniques, although it may be of one of them."""
    of_all = ("rank_by", "place_by", "nothing_beats", "slope", "residual_reduction", "direction_effect")
    return claim["quantity"].startswith(of_all) or (claim["technique"] is None and claim["method"] is not None)


def headlines(options):
    """Say which technique comes first in each domain, by deviation and by susceptibility, and whether these agree."""
    with _marts() as warehouse:
        rankings = _records(
            warehouse,
            "select rankings.*, coalesce(techniques.display_name, rankings.technique) as name "
            "from marts.technique_rankings as rankings left join seeds.techniques as techniques using (technique) "
            "where llm is null order by study, domain, rank_by_deviation, rank_by_susceptibility, technique",
        )
        studies = _records(
            warehouse,
            "select study, bool_and(source = 'simulated') as is_simulated, "
            "string_agg(distinct source, ' and ' order by source) as sources, count(*) as n_trials from marts.trials "
            "group by study order by is_simulated desc, study",
        )
        checks = _records(
            warehouse,
            "select checks.kind, status, study from marts.claim_checks as checks "
            "left join seeds.published_claims using (claim_id)",
        )
    if options.study and options.study not in [study["study"] for study in studies]:
        names = ", ".join(printable(study["study"]) for study in studies) or "none: import some trials first"
        raise UserError(f"there is no study {printable(options.study)} in this warehouse; there is {names}")
    for study in studies:
        if options.study in (None, study["study"]):
            _print_study(study, [row for row in rankings if row["study"] == study["study"]])
    if not studies:
        print(_paragraph("The warehouse holds no trials: land some with `bais import`, then run `bais build`."))
    if checks:
        print(_paragraph(f"Claims: {sum_up(checks)} `bais claims` says more."))
    print(f"Warehouse: {printable(warehouse_path())}")
    return 0


def _print_study(study, rankings):
    how = "SIMULATED respondents, no LLM was asked" if study["is_simulated"] else study["sources"]
    print(_paragraph(f"Study {study['study']}, {study['n_trials']:,} trials ({how})"))
    domains = {}
    for row in rankings:
        domains.setdefault(row["domain"], []).append(row)
    rows = [
        (
            row["domain"],
            row["name"],
            _fixed(row["percent_of_baseline"]),
            _fixed(row["deviation_pp"], "+"),
            _fixed(row["spread_change_percent"], "+"),
            row["rank_by_deviation"],
            row["rank_by_susceptibility"],
        )
        for ranked in domains.values()
        for row in ranked
        if 1 in (row["rank_by_deviation"], row["rank_by_susceptibility"])
    ]
    measures = ["% of\nbaseline", "deviation\n(pp)", "spread\nchange %", "rank by\ndeviation", "rank by\nsuscept."]
    if not rankings:
        print("No trial of it had a low or a high anchor, so that there is nothing to compare.")
    if rows:
        print(lay_out(["domain", "technique", *measures], rows, width=_width(), right=range(2, 7)))
    print()
    for domain, ranked in domains.items():
        print(_paragraph(f"{domain}: {_verdict(ranked)}"))
    print()


def _verdict(ranked):
    """Say in a sentence or two what the rankings of one domain come to."""
    closest = [row for row in ranked if row["rank_by_deviation"] == 1]
    steadiest = [row for row in ranked if row["rank_by_susceptibility"] == 1]
    reasons = sorted({word for row in ranked for word in (row["reason"] or "").split("; ")} - {"", "not_ranked"})
    if not closest or not steadiest:
        return f"nothing can be ranked ({', '.join(reasons) or 'no reason given'})."
    if closest == steadiest:
        said = (
            f"{_named(closest)}: closest to the baseline, and the smallest spread between anchors: the metrics agree."
        )
    else:
        end = "the metrics disagree" if ranked[0]["metrics_disagree"] else "the metrics share a winner"
        are, have = ("are" if len(closest) > 1 else "is"), ("have" if len(steadiest) > 1 else "has")
        said = f"{_named(closest)} {are} closest to the baseline; "
        said += f"{_named(steadiest)} {have} the smallest spread between anchors: {end}."
    without = next((row for row in ranked if row["technique"] == "no_technique"), None)
    if without:
        if (
            without["rank_by_deviation_with_no_technique"] == 1
            and closest[0]["rank_by_deviation_with_no_technique"] != 1
        ):
            said += f" Without any technique the answers are closer still ({_fixed(without['percent_of_baseline'])} %)."
        if without["spread_pp"] is not None and abs(steadiest[0]["spread_pp"]) >= abs(without["spread_pp"]):
            said += " No ranked technique has a smaller spread than no technique."
    if any(row["spread_change_percent"] is None for row in closest + steadiest):
        said += f" The spread change is null: {', '.join(reasons) or 'no reason given'}."
    return said


def _named(rows):
    return " and ".join(
        f"{row['name']} ({_fixed(row['percent_of_baseline'])} %, rank {_rank(row['rank_by_deviation'])} by deviation, "
        f"{_rank(row['rank_by_susceptibility'])} by susceptibility)"
        for row in rows
    )


def _rank(rank):
    return "none" if rank is None else rank


def _fixed(value, sign=""):
    return None if value is None else f"{value:{sign}.1f}"


def run_command(arguments):
    """Run a command that is not ported yet."""
    parser = _parser()
    options, of_dbt = parser.parse_known_args(arguments)
    if of_dbt and options.command != "build":
        parser.error(f"unrecognized arguments: {' '.join(of_dbt)}")
    options.of_dbt = of_dbt
    return options.run(options)
