"""`bais sql` and `bais tables`: the warehouse in SQL, read-only."""

import contextlib
import re
import sqlite3
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from bais import terminal
from bais.age import say_if_old
from bais.options import format_option
from bais.terminal import (
    PIPED_WIDTH,
    complain,
    first_sentence,
    fold,
    grain,
    lay_out,
    one_line,
    say_rows,
    similar,
    write_rows,
)
from bais.warehouse import (
    columns_of,
    count,
    interruptible,
    is_text,
    marts,
    opened,
    public_tables,
    refuse_other_than_reading,
    refuse_without_marts,
    refuse_writing,
    stream,
)
from ingest.land.raw import TABLES
from ingest.warehouse import (
    OWN_SCHEMA,
    UserError,
    connect,
    explain,
    is_of_the_file,
    printable,
    warehouse_path,
)  # fmt: skip

MOST_ROWS = 500
# at most 25 tables, by what a user asks
QUESTIONS = {
    "What should I use?": (
        "inference.decisions", "inference.predictions", "inference.multiverse", "marts.effects",
        "marts.technique_costs",
    ),
    "What was answered?": (
        "marts.trials", "marts.counts", "marts.conditions", "marts.outcomes", "inference.outcome_contrasts",
    ),
    "How sure?": (
        "inference.intervals", "inference.contrasts", "inference.llm_contrasts", "inference.transfer",
        "inference.power",
    ),
    "Who did not answer?": (
        "marts.shortfalls", "marts.attrition", "marts.quarantined_trials", "marts.post_hoc_changes",
    ),
    "Does it hold?": ("marts.claim_checks", "claims.claim_trials", "marts.drift", "marts.human_comparisons"),
}  # fmt: skip
OWN = "(of your own)"
OTHERS = "(of papers, people, news)"
NOT_TEXT = "the query is not UTF-8 text"
SHOWN = (
    f"a table stops at {terminal.MOST_CHARACTERS} characters a cell, and on a terminal at {MOST_ROWS} rows; "
    "in the other formats nothing is left out"
)


@click.command(context_settings={"ignore_unknown_options": True})  # a query may begin with a comment
@format_option("parquet", help=SHOWN)
@click.argument("query", required=False, metavar="[QUERY]")
def sql(form: str, query: str | None) -> None:
    """Answer a query, those on stdin, or those typed at a prompt."""
    if query and query.startswith("-") and not re.search(r"\s", query):
        raise click.NoSuchOption(query)
    if query is None and sys.stdin.isatty() and sys.stdout.isatty():
        _prompt(form)
        return
    try:
        query = sys.stdin.read() if query is None else query
    except UnicodeError:
        raise UserError(NOT_TEXT) from None
    if not query.strip():
        raise UserError('there is no query: give one, as in bais sql "from marts.conditions"')
    answer(query, form)


def answer(query: str, form: str) -> None:
    """Run SQL that reads, and write what it gives to stdout."""
    import duckdb
    import pyarrow as pa

    if form == "parquet" and sys.stdout.isatty():
        raise UserError(
            "parquet is bytes, not text: send it to a file, as in `bais sql … --format parquet > answer.parquet`"
        )
    if not is_text(query):
        raise UserError(NOT_TEXT)
    with contextlib.closing(connect(is_sealed=True)) as warehouse:
        try:
            statements = warehouse.extract_statements(query)
            if not statements:
                raise UserError("there is no statement in the query")
            for statement in statements:
                refuse_other_than_reading(statement)
                refuse_writing(warehouse, statement)
            if form != "table" and len(statements) != 1:
                raise UserError(
                    f"{form} holds one answer, and these are {len(statements)} statements: give them one by one"
                )
            say_if_old(warehouse)
            for statement in statements:
                _answer_one(warehouse, statement, form)
        except (duckdb.Error, pa.ArrowException) as error:
            if is_of_the_file(error):
                raise UserError(explain(error, warehouse_path())) from None
            raise UserError(_explain_sql(error, warehouse)) from None


def _answer_one(warehouse, statement, form):
    if form == "parquet":
        from pyarrow.parquet import write_table

        table = interruptible(warehouse, lambda: warehouse.sql(statement.query).to_arrow_table())
        write_table(table, sys.stdout.buffer)
        return
    result = interruptible(warehouse, lambda: warehouse.execute(statement))
    names = [column[0] for column in result.description]
    if form != "table":
        write_rows(form, names, stream(warehouse, result))
        return
    width = terminal.terminal_width()
    rows = list(islice(stream(warehouse, result), None if width is None else MOST_ROWS + 1))
    if names == ["explain_key", "explain_value"]:
        print("\n".join(map(printable, "\n".join(plan for _, plan in rows).splitlines())))
        return
    shown = rows if width is None else rows[:MOST_ROWS]
    say_rows("table", [printable(name) for name in names], shown)
    sys.stdout.flush()
    left_out = f"the first {len(shown):,} rows; --format csv gives all" if len(shown) < len(rows) else ""
    print(left_out or f"{len(rows):,} row{'' if len(rows) == 1 else 's'}", file=sys.stderr)


def _explain_sql(error, warehouse):
    """Keep DuckDB's message and the line with the caret, and say where the tables are."""
    import duckdb

    text = str(error)
    first = printable(text.splitlines()[0])
    if isinstance(error, duckdb.PermissionException) or "attached in read-only mode" in text:
        return (
            "`bais sql` only reads the warehouse: it changes no table, and other files, the network and extensions are "
            f"closed to it ({first})"
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return (
            "the query needs more memory than DuckDB may take here, and `bais sql` writes nothing to disk: "
            f"ask for less at a time ({first})"
        )
    lines = [printable(line) for line in text.splitlines() if line.strip() and not line.startswith("\t")][:8]
    if re.search(r"Table with name .* does not exist", text):
        none = "There are no marts yet: run `bais build`."
        lines.append("`bais tables` lists the tables." if public_tables(warehouse) else none)
    return "\n".join(lines)


def _prompt(form: str) -> None:
    """Read statements and answer them until Ctrl-D; the warehouse is open only while one of them runs."""
    connect().close()
    with _history(warehouse_path().with_name(".sql_history")):
        print(f"Reading {printable(warehouse_path())}. A query ends with `;`, `.tables` lists tables, `.quit` leaves.")
        typed = ""
        while True:
            try:
                line = input("  ... " if typed else "bais> ")
                if not typed and (command := line.strip()).startswith("."):
                    if command in (".quit", ".exit"):
                        return
                    if command != ".tables":
                        raise UserError(f"there is no {command}: only .tables and .quit")
                    _list_tables("table", every=True)
                    continue
                typed = f"{typed}\n{line}".strip()
                if sqlite3.complete_statement(typed):
                    query, typed = typed, ""
                    answer(query, form)
            except EOFError:
                print()
                return
            except KeyboardInterrupt:
                typed = ""
                print()
            except UnicodeError:
                complain(NOT_TEXT)
            except UserError as error:
                complain(str(error))


@contextlib.contextmanager
def _history(path: Path) -> Iterator[None]:
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


@click.command()
@format_option()
@click.option("--all", "every", is_flag=True, help="also those that papers, people, news and the ledger need")
@click.argument("name", required=False, metavar="[NAME]", help="such as conditions or marts.conditions")
def tables(form: str, every: bool, name: str | None) -> None:
    """List the tables that answer a question, or the columns of one, or of one of `raw`."""
    if name:
        _describe(name, form)
    else:
        _list_tables(form, every)


def _list_tables(form, every):
    questions = {table: question for question, answering in QUESTIONS.items() for table in answering}
    with marts() as warehouse:
        listed = public_tables(warehouse)
        public = {f"{schema}.{name}": first_sentence(comment) for schema, name, comment in listed}
        questions |= {f"{schema}.{name}": OWN for schema, name, _ in listed if schema == OWN_SCHEMA}
        others = [table for table in public if table not in questions]
        shown = [table for table in questions if table in public] + (others if every else [])
        rows = [(questions.get(table), table, count(warehouse, *table.split(".", 1)), public[table]) for table in shown]
    if form != "table":
        say_rows(form, ["question", "table", "rows", "grain"], rows)
        return
    predecessors = [None, *(question for question, *_ in rows)]
    rows = [
        (None if question == before else question or OTHERS, table, n_rows, grain(sentence))
        for before, (question, table, n_rows, sentence) in zip(predecessors, rows, strict=False)
    ]
    say_rows(form, ["question", "table", "rows", "one row per"], rows, null="")
    if others and not every:
        print(f"{len(others)} more for papers, people, news and the ledger: `bais tables --all` lists them.")


def _describe(table, form):
    with opened() as warehouse:
        public = public_tables(warehouse)
        described = public + public_tables(warehouse, ("raw",))
        names = [f"{schema}.{name}" for schema, name, _ in described]
        called = [i for i, name in enumerate(names) if table.lower() in (name.lower(), name.partition(".")[2].lower())]
        if not called:
            refuse_without_marts(public)
            alike = similar(table, names)
            raise UserError(f"there is no public table {printable(table)}{alike}: `bais tables` lists them")
        schema, name, comment = described[called[0]]
        say_if_old(warehouse)
        n_rows, columns = count(warehouse, schema, name), columns_of(warehouse, schema, name)
    columns = [(column["name"], column["type"].lower(), column["description"]) for column in columns]
    comment = TABLES[name].description if schema == "raw" and name in TABLES else comment
    if form != "table":
        write_rows(form, ["column", "type", "definition"], columns)
        return
    rows = [(column, kind, one_line(definition)) for column, kind, definition in columns]
    width = terminal.terminal_width() or PIPED_WIDTH
    print("\n".join(fold(printable(f"{schema}.{name}, {n_rows:,} rows. {one_line(comment) or ''}".strip()), width)))
    print()
    print(lay_out(["column", "type", "definition"], rows, width=width, null="", is_whole=True))
