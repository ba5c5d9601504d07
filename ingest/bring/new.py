"""`bais import FILE --map new`: a mapping to fill in, with the columns of the file and some of their values."""

import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from shlex import quote

from ingest.archives import archive_of
from ingest.archives.table import AS_IT_IS
from ingest.bring.columns import ANSWERS, KNOWN, NEEDED, in_a_row, lacks, likely_column
from ingest.bring.mapping import Given, Mapping, path_below, with_mapping
from ingest.bring.recognition import recognised
from ingest.bring.tables import SOURCE
from ingest.texts.lines import walk
from ingest.warehouse import UserError, printable, scratch

LONGEST_TYPE = 400
NESTED = re.compile(r"^(STRUCT|MAP|UNION|JSON)|\[\d*\]$")  # types of what holds values and is none


def new_mapping(folder: Path, form: str | None, given: Given) -> str:
    """Write a mapping to fill in for a file or folder, and say what is missing in it."""
    folder, path = Path(folder).resolve(), Path("map.sql")
    as_it_is = replace(given, path=None)
    archive = with_mapping(archive_of(form) if form else recognised(folder, is_mapped=True), folder, as_it_is, None)
    with tempfile.TemporaryDirectory(prefix="bais-map-") as folder_of_work:
        mapping = Mapping(archive, folder, as_it_is, Path(folder_of_work))
        files = {file: path_below(folder, file) for file in walk(folder)[0] if archive.has_ending(file)}
        mapping.take(files, None)
        tables = mapping.describe_tables()
    source = next((name for name in tables if name == SOURCE), max(tables, key=lambda name: len(tables[name])))
    found = {}
    for column, of_type, *_ in tables[source]:
        if (
            column != "filename"
            and not NESTED.search(of_type)
            and (name := likely_column(column, KNOWN.keys() - found))
        ):
            found[name] = _in_sql(column)
    select = mapping.archive.select.strip() if mapping.archive.select != AS_IT_IS else _select(found, source)
    of_tables = [line for name, columns in tables.items() for line in _comments(name, columns)]
    again = f"bais import {quote(printable(mapping.folder))} --map {quote(str(path))}"
    lines = [f"-- Makes trials of {mapping.name}: {again}", *of_tables, select]
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except FileExistsError:
        raise UserError(f"{path} is there already: move it away, or import with it: {again}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
    lacking = lacks(found) if mapping.archive.select == AS_IT_IS else []
    to_do = f"fill in {in_a_row(lacking)}, then run" if lacking else "look whether it is right, then run"
    return f"{path} is written, with the columns of {mapping.name} and some of their values: {to_do} `{again}`"


def _comments(name, columns):
    """Describe the columns of a table in comments."""
    width = max(len(printable(_in_sql(column))) for column, *_ in columns)
    yield f"-- {name} has these columns, with some of their values:"
    for column, of_type, values in columns:
        of_type = of_type if len(of_type) <= LONGEST_TYPE else f"{of_type[:LONGEST_TYPE]}…"
        yield printable(f"--   {_in_sql(column):<{width}}  {of_type:<9}  {' | '.join(values)}")


def _select(found, source):
    """Write a SELECT with the columns that were found; what is needed and was not, is to be filled in."""
    has_answer = bool(found.keys() & ANSWERS.keys())
    lines = []
    for name, what in KNOWN.items():
        if name in found:
            lines.append((f"{found[name]} as {name}," if found[name] != name else f"{name},", what))
        elif name in NEEDED or (name == "text" and not has_answer):
            lines.append((f"null as {name},", f"NEEDED: {what}"))
        else:
            lines.append((f"-- … as {name},", what))
    width = max(len(text) for text, _ in lines)
    return "\n".join(
        ["select", *(f"    {text:<{width}}  -- {what}" for text, what in lines), "    filename", f"from {source}"]
    )


def _in_sql(column):
    """Return a column as SQL names it."""
    is_plain = re.fullmatch(r"[a-z_][a-z0-9_]*", column) and column not in _words_of_sql()
    return column if is_plain else '"' + column.replace('"', '""') + '"'


@cache
def _words_of_sql():
    with scratch() as memory:
        return {word for (word,) in memory.sql("select keyword_name from duckdb_keywords()").fetchall()}
