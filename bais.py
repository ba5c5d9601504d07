"""The `bais` command: land trials, build the warehouse, and ask it."""

import argparse
import contextlib
import os
import re
import sys
from pathlib import Path

from ingest.warehouse import ROOT, UserError, connect, explain, printable, warehouse_path

PUBLIC_SCHEMAS = ("marts", "inference")
NOT_TEXT = "the query is not UTF-8 text"
FORMATS = ("table", "csv", "json")
FAILING = ("differs", "contradicted", "not_established", "not_derivable")
PUBLISHED = (
    "seeds.published_claims as claims "
    "on checks.claim_id = claims.claim_id and checks.part is not distinct from claims.part"
)
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


def main(arguments=None):
    """Run one `bais` command.

    Parameters
    ----------
    arguments : list of str, optional
        Those of the command line if not given.

    Returns
    -------
    int
        The exit code. Whatever is wrong has been said in one sentence on stderr.
    """
    parser = _parser()
    options, of_dbt = parser.parse_known_args(arguments)
    if of_dbt and options.command != "build":
        parser.error(f"unrecognized arguments: {' '.join(of_dbt)}")
    if options.version:
        return _print_version()
    if not options.command:
        parser.print_help()
        return 2
    options.of_dbt = of_dbt
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", newline="")
    try:
        code = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        print(f"bais: {error.filename or 'the output'} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return code


def _run(options):
    try:
        return options.run(options)
    except UserError as error:
        print(f"bais: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bais: interrupted", file=sys.stderr)
        return 130


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
    from bais_recommend import add_recommend_command
    from bais_report import add_report_arguments, report
    from bais_trials import add_trial_commands
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
    checked_batches = command("check", check, "audit what has no verdict yet, and say what the gate says of each batch")
    which = checked_batches.add_mutually_exclusive_group()
    which.add_argument("--batch", metavar="ID", help="audit this batch anew, and say what is wrong with it")
    which.add_argument("--all", action="store_true", help="audit every batch anew")
    checked_batches.add_argument("--json", action="store_true", help="as JSON, with every check that is not met")
    checked_batches.add_argument("--strict", action="store_true", help="exit 1 on warnings")
    for act, what, object_name in (
        ("accept", "publish a batch whatever its verdict", "BATCH"),
        ("reject", "keep a batch from being published", "BATCH"),
        ("release", "clear a trial of what the gate flagged it for", "TRIAL"),
    ):
        decided = command(act, decide, f"{what}; kept with name and reason")
        decided.add_argument("object_id", metavar=object_name)
        decided.add_argument("--why", required=True, metavar="TEXT", help="the reason, for those who come later")
        decided.add_argument("--who", metavar="NAME", help="your name (default: BAIS_USER, else this machine's user)")
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
    add_recommend_command(command)
    add_trial_commands(command)
    first = command("headlines", headlines, "say which technique comes first in each domain, by either metric")
    first.add_argument("--study", help="only this study")
    add_report_arguments(
        command("report", report, "write what the warehouse knows as one HTML page that needs no network")
    )
    add_paper_arguments(command("paper", paper, "have the paper on a study written, from the warehouse alone"))
    add_doctor_commands(command)
    return parser


def _print_version():
    from importlib.metadata import version

    print(f"bais {version('bais')}")
    return 0


def _drop_output():
    """Let the interpreter leave in silence when nobody reads, or the disk holds, what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


def check(options):
    """Audit, and say what the gate says of each batch; exit 6 if one is not published for it."""
    import json

    from ingest.gate import FAILED, audit, last_verdicts

    if options.batch or not options.all:
        audit([options.batch] if options.batch else None)
    else:
        audit([verdict["batch_id"] for verdict in last_verdicts()])
        audit()
    verdicts = [verdict for verdict in last_verdicts() if options.batch in (None, verdict["batch_id"])]
    if options.json:
        print(json.dumps([_plain(verdict) for verdict in verdicts], indent=2))
    elif verdicts:
        _print_verdicts(verdicts, in_full=bool(options.batch))
    else:
        print(_paragraph("There is no batch yet: collect a study, or import an archive."))
    if any(verdict["verdict"] == "failed" and not verdict["is_published"] for verdict in verdicts):
        return FAILED
    return 1 if options.strict and any(verdict["verdict"] != "passed" for verdict in verdicts) else 0


def export(options):
    """Write the public tables, and the raw ones that they come from, to files."""
    from bais_export import export as write

    return write(options)


def _print_verdicts(verdicts, in_full):
    names = ["batch", "trials", "verdict", "published", "quarantined", "suspect"]
    rows = [
        (
            verdict["batch_id"],
            verdict["n_trials"],
            verdict["verdict"].replace("_", " "),
            f"{'yes' if verdict['is_published'] else 'no'}{', by ' + verdict['act'] if verdict['act'] else ''}",
            verdict["n_quarantined"],
            verdict["n_suspect"],
        )
        for verdict in verdicts
    ]
    print(lay_out(names, rows, width=_width()))
    for verdict in verdicts:
        failed = [found for found in verdict["checks"] if _has_failed(found)]
        unmet = verdict["checks"] if in_full else failed or verdict["checks"][:3]
        if not unmet:
            continue
        print()
        print(_paragraph(f"{verdict['batch_id']}:"))
        for found in unmet:
            observed = "nothing" if found["observed_value"] is None else f"{found['observed_value']:.4g}"
            word = "FAILED" if _has_failed(found) else "warning"
            sample = f"; such as {', '.join(found['sample'][:2])}" if found["sample"] else ""
            said = (
                f"{word}, {found['check_name']}: {observed} ({found['measure']}), at most {found['threshold']:g}; "
                f"{found['n_offending']:,} offending{sample}. {found['detail'] or ''}"
            )
            print(_paragraph(said, indent="  "))
        left = len(verdict["checks"]) - len(unmet)
        if left:
            print(_paragraph(f"and {left} more: bais check --batch '{verdict['batch_id']}'", indent="  "))


def _has_failed(found):
    """Whether an unmet check fails its batch: by its level, or because the gate observed nothing."""
    return found["level"] == "fail" or found["observed_value"] is None


def decide(options):
    """Keep what a person decides of a batch or a trial."""
    from ingest.gate import decide as keep

    keep(options.command, options.object_id, options.why, options.who)
    print(_paragraph(f"{options.command}: {options.object_id}. `bais build` derives the tables anew."))
    return 0


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


def _refuse_to_write(warehouse, statement):
    """Let through what only reads: a read-only warehouse would still let `copy … to` overwrite files."""
    kind = statement.type.name
    if kind == "EXPLAIN":
        explained = EXPLAIN.sub("", statement.query)
        kind = " ".join(found.type.name for found in warehouse.extract_statements(explained))
    if kind not in ("SELECT", "MULTI"):  # MULTI is a pivot
        raise UserError(
            f"`bais sql` only reads, so {kind.replace('_', ' ')} is not run: ask with select, from, describe or explain"
        )


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


def _stream(warehouse, result):
    while rows := _interruptible(warehouse, lambda: result.fetchmany(10_000)):
        yield from rows


def _interruptible(warehouse, work):
    """Do what DuckDB may take long for in another thread: in this one it can miss a Ctrl-C until it is done."""
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(1) as other:
        doing = other.submit(work)
        try:
            return doing.result()
        except KeyboardInterrupt:
            while not doing.done():
                warehouse.interrupt()
                wait([doing], timeout=0.05)
            raise


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


def _public_tables(warehouse):
    """Return schema, name and comment of each public table."""
    return warehouse.execute(
        """
        with relations as (
            select database_name, schema_name, table_name, comment from duckdb_tables()
            union all
            select database_name, schema_name, view_name, comment from duckdb_views()
        )

        select schema_name, table_name, comment from relations
        where database_name = current_database() and schema_name in $schemas
        order by list_position($schemas, schema_name), table_name
        """,
        {"schemas": list(PUBLIC_SCHEMAS)},
    ).fetchall()


@contextlib.contextmanager
def _marts():
    """Open the warehouse for a command that needs the marts."""
    import duckdb

    with contextlib.closing(connect()) as warehouse:
        try:
            if not _public_tables(warehouse):
                raise UserError(f"the warehouse {warehouse_path()} has no marts yet: run `bais build`")
            yield warehouse
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            missing = printable(str(error).splitlines()[0])
            raise UserError(
                f"the warehouse {warehouse_path()} is not what this version builds ({missing}): run `bais build`"
            ) from None
        except duckdb.Error as error:
            raise UserError(explain(error, warehouse_path())) from None


def _records(warehouse, query, parameters=None):
    """Return the answer as a list of dicts."""
    result = warehouse.execute(query, parameters or {})
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _count(warehouse, schema, name):
    return warehouse.execute(f'select count(*) from "{schema}"."{name}"').fetchall()[0][0]


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
            "select checks.* replace (concat_ws('/', checks.claim_id, checks.part) as claim_id), claims.decimals, "
            f"claims.study from marts.claim_checks as checks inner join {PUBLISHED} order by claims.rowid",
        )
        known = {claim["claim_id"]: claim for claim in everything}
        if options.claim_id:
            if options.claim_id not in known:
                raise UserError(f"there is no claim {printable(options.claim_id)}{_similar(options.claim_id, known)}")
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
    (claim,) = _records(
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
            f"select checks.kind, status, study from marts.claim_checks as checks inner join {PUBLISHED}",
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


def write_rows(form, names, rows):
    """Write rows to stdout with every digit they have.

    Parameters
    ----------
    form : {"csv", "json"}
        RFC 4180 with a header, where an empty text is quoted and a null is not; or an array of objects, where NaN and
        the infinities are null.
    names : list of str
        A name that comes again gets a number.
    rows : iterable of sequence
    """
    import json

    names = _distinct(names)
    escape = printable if sys.stdout.isatty() else str
    if form == "csv":
        sys.stdout.write(escape(",".join(map(_csv_field, names))) + "\r\n")
        for row in rows:
            sys.stdout.write(escape(",".join(map(_csv_field, row))) + "\r\n")
        return
    separator = "["
    for row in rows:
        text = json.dumps({name: _plain(value) for name, value in zip(names, row, strict=True)}, ensure_ascii=False)
        if not text.isprintable():
            text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
        sys.stdout.write(f"{separator}\n{text}")
        separator = ","
    sys.stdout.write("[]\n" if separator == "[" else "\n]\n")


def _distinct(names):
    taken, distinct = set(names), []
    for name in names:
        new, n = name, 0
        while new in distinct or (n and new in taken):
            n += 1
            new = f"{name}_{n}"
        distinct.append(new)
    return distinct


def _csv_field(value):
    if value is None:
        return ""
    text = value if isinstance(value, str) else _full(_plain(value, is_finite=False))
    return '"' + text.replace('"', '""') + '"' if not text or re.search(r'[",\r\n]', text) else text


def _full(value):
    import json

    if isinstance(value, str):
        return value
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _plain(value, *, is_finite=True):
    """Return a value of DuckDB as one that JSON has, with all its digits."""
    import math
    from datetime import date, datetime, time
    from decimal import Decimal

    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) or not is_finite else None
    if isinstance(value, Decimal):
        exact = int(value) if value == value.to_integral_value() else float(value)
        return exact if isinstance(exact, int) or Decimal(repr(exact)) == value else str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return str(value)


def lay_out(names, rows, *, width=None, null="NULL", right=()):
    """Lay rows out as a table for people.

    Parameters
    ----------
    names : list of str
    rows : list of sequence
        Text is escaped; a column of numbers goes to the right.
    width : int, optional
        The columns of the terminal. Cells fold to fit and long ones are cut; if even that does not fit, each row
        becomes a block of lines. Without a width nothing is folded or cut.
    null : str
        What stands for a null.
    right : collection of int
        Columns that go to the right although they hold text.

    Returns
    -------
    str
    """
    from rich.cells import cell_len

    cells = [[null if value is None else _cut(_shown(value), width) for value in row] for row in rows]
    heads = [name.split("\n") if i in right else [printable(name)] for i, name in enumerate(names)]
    to_right = [i in right or _holds_numbers(row[i] for row in rows) for i in range(len(names))]
    sizes = [max(map(cell_len, [*heads[i], *(row[i] for row in cells)])) for i in range(len(names))]
    gaps = 2 * (len(sizes) - 1)
    if width is not None and sum(sizes) + gaps > width:
        words = [
            max((cell_len(word) for row in cells for word in row[i].split()), default=0) for i in range(len(names))
        ]
        least = [
            size if right_ else min(size, max(NARROWEST_TEXT, min(word, WIDEST_WORD)))
            for size, word, right_ in zip(sizes, words, to_right, strict=True)
        ]
        if sum(least) + gaps > width:
            records = [_pairs(zip(names, row, strict=True), width=width) for row in cells]
            return "\n".join(
                f"── {i} {'─' * (width - len(str(i)) - 4)}\n{record}" for i, record in enumerate(records, 1)
            )
        while sum(sizes) + gaps > width:
            widest = max(range(len(sizes)), key=lambda i: (sizes[i] - least[i] > 0, sizes[i]))
            sizes[widest] -= 1

    def lines(folded):
        deepest = max(map(len, folded))
        for at in range(deepest):
            texts = [of[at] if at < len(of) else "" for of in folded]
            yield "  ".join(
                " " * (size - cell_len(text)) + text if right_ else text + " " * (size - cell_len(text))
                for text, size, right_ in zip(texts, sizes, to_right, strict=True)
            ).rstrip()

    out = list(
        lines([[part for line in head for part in _fold(line, size)] for head, size in zip(heads, sizes, strict=True)])
    )
    out.append("  ".join("─" * size for size in sizes))
    for row in cells:
        out += lines([_fold(text, size) for text, size in zip(row, sizes, strict=True)])
    return "\n".join(out)


def _fold(text, size):
    """Break text into lines of at most `size` columns of a terminal, at spaces if there are any."""
    if len(text) * 2 <= size:
        return [text]
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    if cell_len(text) <= size:
        return [text]
    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=size), size, overflow="fold")]


def _pairs(pairs, indent="", width=None):
    """Lay names and values out below each other, the values folded to the terminal."""
    pairs = [(printable(name), _shown(value)) for name, value in pairs]
    width = width or _width()
    longest = max(len(name) for name, _ in pairs)
    size = max(width - longest - len(indent) - 2, NARROWEST_TEXT) if width else None
    lines = []
    for name, text in pairs:
        first, *rest = _fold(text, size) if size else [text]
        lines += [f"{indent}{name:<{longest}}  {first}", *(f"{indent}{'':<{longest}}  {line}" for line in rest)]
    return "\n".join(line.rstrip() for line in lines)


def _paragraph(text, indent=""):
    """Escape text and, on a terminal, break it into lines that are easy to read."""
    width = _width()
    lines = _fold(printable(text), min(width, WIDEST_PARAGRAPH) - len(indent)) if width else [printable(text)]
    return "\n".join(indent + line for line in lines)


def _shown(value):
    """Return a value as people read it: numbers to six digits, nothing that could act on a terminal."""
    if isinstance(value, float):
        is_large = 1e6 <= abs(value) < 1e15
        return f"{value:.0f}" if is_large else f"{value:.6g}"
    if hasattr(value, "isoformat"):
        return str(value)
    return printable(value if isinstance(value, str) else _full(_plain(value)))


def _holds_numbers(values):
    from decimal import Decimal

    kinds = {type(value) for value in values} - {type(None)}
    return bool(kinds) and kinds <= {int, float, Decimal}


def _cut(text, width):
    return text if width is None or len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def _one_line(text):
    return text and " ".join(text.split())


def _first_sentence(text):
    return text and re.split(r"(?<=\.)\s", _one_line(text), maxsplit=1)[0]


def _similar(asked, names):
    from difflib import get_close_matches

    close = get_close_matches(asked, names, n=3, cutoff=0.5)
    return f" (perhaps {' or '.join(close)})" if close else ""


def _width():
    """Return the columns of the terminal, or None if stdout is none and nothing need fit."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


if __name__ == "__main__":
    sys.exit(main())
