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
LONGEST_ROW = 8 << 20  # bytes that DuckDB reads: its buffers grow with it
AT_THE_END = "unexpected end of data"
OF_QUOTES = ("expected after", AT_THE_END)  # what Python's reader says of them
OPENERS = {"gzip": gzip.open, "none": open}
NOT_UTF_8 = "this line is not UTF-8: save the file as UTF-8"
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
    with _opened(path) as file:
        lines = _Lines(file)
        line = 1
        try:
            header, rows = _header(lines, name)
            is_refused = not may_be_empty
            line = rows.line_num + 1
            for values in rows:
                if not _is_blank(header, values):
                    is_refused = False
                    if problem := _misfit(header, values):
                        raise ValueError(f"{name}:{line}: {problem}")
                    yield CsvRow({column: value or None for column, value in zip(header, values, strict=True)}, line)
                line = rows.line_num + 1
            if is_refused:
                raise ValueError(f"{name} has a header and no rows: write the rows below it")
        except UnicodeError:
            raise ValueError(f"{name}:{lines.number}: {NOT_UTF_8}") from None
        except csv.Error as error:
            raise ValueError(f"{name}:{line}: {_in_words(error)}") from None


def header_of(path: Path, name: str) -> tuple[tuple[str, ...], str]:
    """Return the columns that the header of a CSV file names, and what separates its values."""
    with _opened(path) as file:
        lines = _Lines(file)
        try:
            header, rows = _header(lines, name)
        except UnicodeError:
            raise ValueError(f"{name}:{lines.number}: {NOT_UTF_8}") from None
        except csv.Error as error:
            raise ValueError(f"{name}:1: {_in_words(error)}") from None
        return tuple(header), rows.dialect.delimiter


def compression_of(path: Path) -> str:
    """Return how a CSV file is packed, as its name says: gzip or none."""
    return "gzip" if path.suffix.lower() == ".gz" else "none"


def clean_csv(path: Path, target: Path, name: str) -> Iterator[tuple[int, str, str]]:
    """Copy a CSV file without the lines that are none, with commas; yield these, each with its number and the reason.

    A quote that nothing closes would take the rest of the file with it: it is an error.
    """
    with _opened(path) as file, OPENERS[compression_of(path)](target, "wt", encoding="utf-8") as copy:
        lines, write = _Lines(file), csv.writer(copy, lineterminator="\n").writerow
        header, rows = _header(lines, name)
        write(header)
        while True:
            lines.taken, first = [], lines.number + 1
            try:
                values = next(rows)
            except StopIteration:
                return
            except UnicodeError:
                problem = NOT_UTF_8
            except csv.Error as error:
                problem = _in_words(error)
                if AT_THE_END in str(error):
                    raise ValueError(f"{name}:{first}: {problem}") from None
            else:
                if _is_blank(header, values):
                    continue
                problem = _misfit(header, values)
                if sum(map(len, lines.taken)) > LONGEST_ROW:
                    problem = f"this row is longer than {LONGEST_ROW >> 20} MB"
                if not problem:
                    write(values)
            if problem:
                yield first, b"".join(lines.taken).decode("utf-8", "backslashreplace").rstrip("\r\n"), problem


class _Lines:
    """The lines of a CSV file as texts: those that were taken last, and how many there were."""

    def __init__(self, file):
        self.file, self.taken, self.number = file, [], 0

    def __iter__(self):
        return self

    def __next__(self):
        line = next(self.file)
        self.number += 1
        self.taken.append(line)
        return (line.removeprefix(codecs.BOM_UTF8) if self.number == 1 else line).decode("utf-8")


def _opened(path):
    csv.field_size_limit(sys.maxsize)
    return OPENERS[compression_of(path)](path, "rb")


def _header(lines, name):
    """Return the columns that a header names, and a reader of what follows it."""
    first = next(lines, "")
    delimiter = max(DELIMITERS, key=first.count)
    rows = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    header = [column or f"column{place}" for place, column in enumerate(next(rows, []))]
    if not header:
        raise ValueError(f"{name}:1: the first line should name the columns, and nothing stands there")
    if twice := [column for column in header if header.count(column) > 1]:
        raise ValueError(f"{name}:1: the header names the column {twice[0]} twice")
    return header, rows


def _is_blank(header, values):
    """Whether a line holds nothing, or blanks where several values should stand."""
    return not values or (len(header) > 1 and len(values) == 1 and not values[0].strip())


def _misfit(header, values):
    if len(values) == len(header):
        return None
    return (
        f"this line has {len(values)} value{'' if len(values) == 1 else 's'}, and the header names {len(header)} "
        "columns: a value that holds a comma stands in quotes, and an empty one keeps its comma"
    )


def _in_words(error):
    return QUOTE if any(part in str(error) for part in OF_QUOTES) else f"this is no CSV: {error}"
