"""Read CSV that people write: a line that does not fit its header, or a quote left open, is refused with its line.

Text that a spreadsheet would take for a formula has an apostrophe before it in the files that bais writes for people.
"""

import codecs
import csv
import gzip
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

DELIMITERS = ",;\t|"
OF_QUOTES = ("expected after", "unexpected end of data")  # what Python's reader says of them
QUOTE = (
    "a quote is opened here and not closed where its value ends: a value that holds a quote stands in quotes as a "
    "whole, with each quote in it doubled"
)
# what a spreadsheet would take for a formula, in Python and in DuckDB, and what has an apostrophe of its own
FORMULA = r"^[=+\-@\t\r\n" + "\uff1d\uff0b\uff0d\uff20']"


def disarmed(text: str) -> str:
    """Return text as a spreadsheet shows it and does not run it."""
    return f"'{text}" if re.match(FORMULA, text) else text


def rearmed(text: str) -> str:
    """Return what `disarmed` was given, and text that people wrote as it is."""
    return text[1:] if text.startswith("'") and re.match(FORMULA, text[1:]) else text


class CsvRow(dict):
    """A row of a CSV file, by the names of its header, and the line on which it begins; empty values are None."""

    def __init__(self, values: dict[str, str | None], line: int):
        super().__init__(values)
        self.line = line


def read_csv(path: Path, name: str, *, may_be_empty: bool = False) -> Iterator[CsvRow]:
    """Yield the rows of a CSV file, zipped or not, which errors call `name`.

    What stands between the names of the header most often separates them: a comma, semicolon, tab or vertical bar.
    """
    csv.field_size_limit(sys.maxsize)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        first = file.readline().removeprefix(codecs.BOM_UTF8)
        lines = _decoded(itertools.chain([first], file), name)
        delimiter = max(DELIMITERS, key=first.decode("utf-8", "replace").count)
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        line = 1
        try:
            header = [column or f"column{place}" for place, column in enumerate(next(rows, []))]
            if not header:
                raise ValueError(f"{name}:1: the first line should name the columns, and nothing stands there")
            if twice := [column for column in header if header.count(column) > 1]:
                raise ValueError(f"{name}:1: the header names the column {twice[0]} twice")
            is_refused = not may_be_empty
            line = rows.line_num + 1
            for values in rows:
                if values:
                    is_refused = False
                    yield CsvRow(_by_column(header, values, f"{name}:{line}"), line)
                line = rows.line_num + 1
            if is_refused:
                raise ValueError(f"{name} has a header and no rows: write the rows below it")
        except csv.Error as error:
            problem = QUOTE if any(part in str(error) for part in OF_QUOTES) else f"this is no CSV: {error}"
            raise ValueError(f"{name}:{line}: {problem}") from None


def _decoded(lines, name):
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeError:
            raise ValueError(f"{name}:{number}: this line is not UTF-8: save the file as UTF-8") from None


def _by_column(header, values, where):
    if len(values) != len(header):
        raise ValueError(
            f"{where}: this line has {len(values)} value{'' if len(values) == 1 else 's'}, and the header names "
            f"{len(header)} columns: a value that holds a comma stands in quotes, and an empty one keeps its comma"
        )
    return {column: value or None for column, value in zip(header, values, strict=True)}
