"""Tables that DuckDB cannot read by itself here, SQLite's and Excel's, copied to Parquet."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.archives.table import KINDS
from ingest.warehouse import UserError, printable

LONGEST_FORMULA = 60  # characters that are shown of one
ROWS_AT_A_TIME = 50_000


def sheets(path: Path, name: str) -> Iterator[tuple[str, list[str], Iterable[tuple]]]:
    """Yield the tables of a file that errors call `name`: what each is called, its columns, and its rows."""
    yield from (_of_excel if path.suffix.lower() in KINDS["excel"] else _of_sqlite)(path, name)


def write_sheet(columns: list[str], rows: Iterable[tuple], target: Path) -> int:
    """Write rows to a Parquet file, in which every value is a text, and return how many there are."""
    schema = pa.schema([(column, pa.string()) for column in columns])
    target.parent.mkdir(parents=True, exist_ok=True)
    n_rows, gathered = 0, []
    with pq.ParquetWriter(target, schema) as writer:

        def write():
            texts = [[_text(value) for value in values] for values in zip(*gathered, strict=True)]
            writer.write_table(pa.table(texts or [[]] * len(columns), schema=schema))
            gathered.clear()

        for row in rows:
            gathered.append(row)
            n_rows += 1
            if len(gathered) == ROWS_AT_A_TIME:
                write()
        write()
    return n_rows


def _text(value):
    """Return a value as a text: a number without what it does not say, a time as ISO 8601."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return value.isoformat() if isinstance(value, datetime | date | time) else str(value)


def _of_sqlite(path, name):
    # what another program has yet to write into the file stands beside it; without that the folder may be read-only
    is_in_use = any(Path(f"{path}{ending}").exists() for ending in ("-wal", "-journal"))
    address = f"{path.absolute().as_uri()}?mode=ro{'' if is_in_use else '&immutable=1'}"
    with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
        database.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
        try:
            query = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'"
            for (table,) in database.execute(f"{query} order by name").fetchall():
                rows = database.execute('select * from "{}"'.format(table.replace('"', '""')))
                yield table, [column[0] for column in rows.description], rows
        except sqlite3.DatabaseError as error:
            raise UserError(f"{name} cannot be read as SQLite: {printable(error)}") from None


def _of_excel(path, name):
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise UserError(
            f"{name} is a file of Excel, which is read with openpyxl: install it with `pip install 'bais[excel]'`, or "
            "save the sheet as CSV (UTF-8)"
        ) from None
    with contextlib.ExitStack() as opened:
        try:
            saved, written = (
                opened.enter_context(contextlib.closing(load_workbook(path, read_only=True, data_only=is_saved)))
                for is_saved in (True, False)
            )
        except Exception as error:
            raise UserError(f"{name} cannot be read as a file of Excel: {printable(error)}") from None
        for sheet, formulas in zip(saved.worksheets, written.worksheets, strict=True):
            rows = sheet.iter_rows(values_only=True)
            if header := next(rows, None):
                columns = [str(title) if title is not None else f"column{place}" for place, title in enumerate(header)]
                yield sheet.title, columns, _rows_of_sheet(rows, formulas, len(columns), f"{name}, sheet {sheet.title}")


def _rows_of_sheet(rows, formulas, n_columns, name):
    """Yield the rows below the header that hold a value, each as long as that; refuse a formula without its result."""
    for number, (row, cells) in enumerate(zip(rows, formulas.iter_rows(min_row=2, values_only=True), strict=False), 2):
        for place, (value, cell) in enumerate(zip(row, cells, strict=False)):
            if value is None and cell is not None:
                formula = getattr(cell, "text", cell)  # that of several cells is an object
                raise UserError(
                    f"{printable(name)}, row {number}, column {place + 1}: the file holds the formula "
                    f"{printable(formula)[:LONGEST_FORMULA]} and not its result: open it in Excel and save it, so that "
                    "each result stands in it"
                )
        if any(value is not None for value in row[n_columns:]):
            raise UserError(f"{printable(name)}, row {number}: it has more values than the first row names columns")
        if any(value is not None for value in row):
            yield (*row, *[None] * (n_columns - len(row)))[:n_columns]
