"""What a person or a program reads on stdout: tables, pairs, paragraphs, and rows as CSV or JSON."""

import contextlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, zip_longest

from ingest.warehouse import printable

FORMATS = ("table", "csv", "json")
# what a spreadsheet would run: text that begins so and is no number, such as -3.5
RUN = re.compile("[=@\t\r\n\uff1d\uff0b\uff0d\uff20]|[+-](?![0-9.,]+([eE][+-]?[0-9]+)?%?$)")

# On a terminal a table is for reading; the other formats give everything.
MOST_CHARACTERS = 300
NARROWEST_TEXT = 14
WIDEST_WORD = 36
WIDEST_PARAGRAPH = 100
PIPED_WIDTH = 80  # of texts for people that go elsewhere than to a terminal
ONE_ROW = "One row per "
PATIENCE_S = 2  # what takes longer shows a person that it is at work
# how a terminal writes the words that a reader looks for first (SGR codes); where colours are not wanted, not at all
BOLD = "1"
STYLES = {
    "use": "32", "passed": "32", "avoid": "31", "failed": "1;31", "FAILED": "1;31", "passed with warnings": "33",
    "warning": "33", "unclear": "2", "SIMULATED": "1;33",
}  # fmt: skip
EVERY_S = 30  # a line of progress where nobody watches


def terminal_width() -> int | None:
    """Return the columns of the terminal, or None if stdout is none and nothing need fit."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def reading_width() -> int:
    """Return the columns that tables for people have: the terminal's or, where they go elsewhere, those of a page."""
    return terminal_width() or PIPED_WIDTH


def styled(text: str, style: str | None, stream=None) -> str:
    """Return a text in a style where a terminal reads it and nobody said NO_COLOR; elsewhere as it is."""
    stream = stream or sys.stdout
    plain_wanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return f"\x1b[{style}m{text}\x1b[0m" if style and text and stream.isatty() and not plain_wanted else text


def say(text: str, indent: str = "") -> None:
    """Print a paragraph, escaped and, on a terminal, broken into lines that are easy to read."""
    width = terminal_width()
    lines = fold(printable(text), min(width, WIDEST_PARAGRAPH) - len(indent)) if width else [printable(text)]
    first = re.match(r"FAILED|warning(?=,)|SIMULATED", lines[0])
    lines[0] = styled(first[0], STYLES[first[0]]) + lines[0][first.end() :] if first else lines[0]
    print("\n".join(indent + line for line in lines))


def say_each(sentences: Iterable[str], indent: str = "") -> None:
    """Print each sentence as a paragraph."""
    for sentence in sentences:
        say(sentence, indent)


def complain(message: str) -> None:
    """Print what is wrong, in one sentence, to stderr."""
    print(f"{styled('bais:', STYLES['failed'], sys.stderr)} {message}", file=sys.stderr)


def say_json(value) -> None:
    """Print a value of the warehouse as JSON with all its digits, and nothing that could act on a terminal."""
    print(json.dumps(plain(value), indent=2, ensure_ascii=sys.stdout.isatty()))


def say_rows(
    form: str, names: list[str], rows: list[Sequence], *, null: str = "NULL", right: Iterable[int] = (),
    spare: Sequence[int] = (),
) -> None:  # fmt: skip
    """Print rows as a table that fits the terminal, or as CSV or JSON."""
    if form == "table":
        print(lay_out(names, rows, width=terminal_width(), null=null, right=right, spare=spare))
    else:
        write_rows(form, names, rows)


def lay_out(
    names: list[str], rows: list[Sequence], *, width: int | None = None, null: str = "NULL", right: Iterable[int] = (),
    is_whole: bool = False, spare: Sequence[int] = (),
) -> str:  # fmt: skip
    """Lay rows out as a table: numbers and the columns `right` to the right, folded to a width if there is one.

    A name may have several lines. Where even that does not fit, the columns `spare` are left out one after the other,
    and a line names them; where none is left, each row becomes a block of lines. Without a width nothing is folded or
    left out. Longer texts than are read in a table are cut, unless it `is_whole`.
    """
    from rich.cells import cell_len

    cells = [[null if value is None else _shown(value) for value in row] for row in rows]
    if not is_whole:
        cells = [
            [text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…" for text in row]
            for row in cells
        ]
    heads, right = [name.split("\n") for name in names], set(right)
    to_right = [i in right or _holds_numbers(row[i] for row in rows) for i in range(len(names))]
    sizes = [max(map(cell_len, [*heads[i], *(row[i] for row in cells)])) for i in range(len(names))]
    least = list(sizes)
    for i in (i for i, right_ in enumerate(to_right) if not right_ or i in right):  # a text, such as a gain's interval
        longest = max((cell_len(word) for row in cells for word in row[i].split()), default=0)
        least[i] = min(sizes[i], max(NARROWEST_TEXT, min(longest, WIDEST_WORD)))
    kept, out = list(range(len(names))), []
    for i in spare:
        if width is None or _width_of(least, kept) <= width:
            break
        kept.remove(i)
        out.append(i)
    if width is not None and _width_of(least, kept) > width:
        whole = [" ".join(lines) for lines in heads]
        blocks = [pairs(zip(whole, row, strict=True), width=width) for row in cells]
        return "\n".join(f"── {i} {'─' * (width - len(str(i)) - 4)}\n{block}" for i, block in enumerate(blocks, 1))
    while width is not None and _width_of(sizes, kept) > width:
        widest = max(kept, key=lambda i: (sizes[i] - least[i] > 0, not to_right[i], sizes[i]))
        sizes[widest] -= 1

    def lines(folded, styles):
        for texts in zip_longest(*folded, fillvalue=""):
            cells = []
            for i, text, style in zip(kept, texts, styles, strict=True):
                parts = [" " * (sizes[i] - cell_len(text)), styled(text, style if width else None)]
                cells.append("".join(parts if to_right[i] else reversed(parts)))
            yield "  ".join(cells).rstrip()

    folded = [[part for line in heads[i] for part in fold(line, sizes[i])] for i in kept]
    height = max(map(len, folded))
    laid = [*lines([[""] * (height - len(head)) + head for head in folded], [BOLD] * len(kept))]
    laid.append("  ".join("─" * sizes[i] for i in kept))
    for row in cells:
        laid += lines([fold(row[i], sizes[i]) for i in kept], [STYLES.get(row[i]) for i in kept])
    if out:
        named = ", ".join(names[i].replace("\n", " ") for i in sorted(out))
        laid += fold(f"Not shown, for want of room: {named}; a wider terminal or a pipe shows all.", width)
    return "\n".join(laid)


def _width_of(sizes, kept):
    return sum(sizes[i] for i in kept) + 2 * (len(kept) - 1)


def fold(text: str, size: int) -> list[str]:
    """Break text into lines of at most `size` columns of a terminal, at spaces if there are any."""
    if len(text) * 2 <= size:
        return [text]
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    if cell_len(text) <= size:
        return [text]
    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=size), size, overflow="fold")]


def pairs(named: Iterable[tuple], indent: str = "", width: int | None = None) -> str:
    """Lay names and values out below each other, the values folded to the terminal."""
    shown = [(printable(name), _shown(value)) for name, value in named]
    width = width or terminal_width()
    longest = max(len(name) for name, _ in shown)
    size = max(width - longest - len(indent) - 2, NARROWEST_TEXT) if width else None
    lines = []
    for name, text in shown:
        first, *rest = fold(text, size) if size else [text]
        lines += [f"{indent}{name:<{longest}}  {first}", *(f"{indent}{'':<{longest}}  {line}" for line in rest)]
    return "\n".join(line.rstrip() for line in lines)


def write_rows(form: str, names: list[str], rows: Iterable[Sequence]) -> None:
    """Write rows with every digit they have, as CSV where null is not the empty text, or as a JSON array.

    In a CSV, text that a spreadsheet would run has an apostrophe before it: answers of LLMs are untrusted text.
    """
    names = _distinct(names)
    escape = printable if sys.stdout.isatty() else str
    if form == "csv":
        for row in chain([names], rows):
            sys.stdout.write(escape(",".join(map(_csv_field, row))) + "\n")
        return
    separator = "["
    for row in rows:
        text = json.dumps({name: plain(value) for name, value in zip(names, row, strict=True)}, ensure_ascii=False)
        if not text.isprintable():
            text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
        sys.stdout.write(f"{separator}\n{text}")
        separator = ","
    sys.stdout.write("[]\n" if separator == "[" else "\n]\n")


def _distinct(names: list[str]) -> list[str]:
    distinct = []
    for name in names:
        numbered = (f"{name}_{n}" for n in count(1))
        distinct.append(next(new for new in numbered if new not in {*names, *distinct}) if name in distinct else name)
    return distinct


def _csv_field(value) -> str:
    if value is None:
        return ""
    text = _full(value)
    text = f"'{text}" if isinstance(value, str) and RUN.match(text) else text
    return '"' + text.replace('"', '""') + '"' if not text or re.search(r'[",\r\n]', text) else text


def _full(value) -> str:
    if isinstance(value, float):
        return repr(value)
    value = plain(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def plain(value):
    """Return a value of DuckDB as one that JSON has, with all its digits."""
    import math
    from decimal import Decimal

    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        exact = int(value) if value == value.to_integral_value() else float(value)
        return exact if isinstance(exact, int) or Decimal(repr(exact)) == value else str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value)


def _shown(value) -> str:
    """Return a value as people read it: numbers to six digits, nothing that could act on a terminal."""
    if isinstance(value, float):
        return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"
    if hasattr(value, "isoformat"):
        return str(value)
    return printable(_full(value))


def fixed(value, form: str = "g", unit: str = "") -> str | None:
    """Write a number in a form of Python's, with its unit; None stays None."""
    return None if value is None else f"{value:{form}}{unit}"


def _holds_numbers(values: Iterable) -> bool:
    from decimal import Decimal

    kinds = {type(value) for value in values} - {type(None)}
    return bool(kinds) and kinds <= {int, float, Decimal}


def one_line(text: str | None) -> str | None:
    """Return a text with its whitespace made single spaces."""
    return text and " ".join(text.split())


def first_sentence(text: str | None) -> str | None:
    """Return the first sentence of a text."""
    return text and re.split(r"(?<=\.)\s", one_line(text), maxsplit=1)[0]


def grain(text: str | None) -> str | None:
    """Return what a table has one row of, without what that is good for: what its description says first."""
    return text and re.split(r"[:;] ", first_sentence(text), maxsplit=1)[0].removesuffix(".").removeprefix(ONE_ROW)


def size_of(n_bytes: int) -> str:
    """Write the size of a file as people read it."""
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e6 else f"{max(n_bytes / 1e3, 0.1):,.1f} kB"


def similar(query: str, names: list[str], by_part: bool = False) -> str:
    """Say which names are like the one that was asked for, or hold it, if any is."""
    from difflib import get_close_matches

    holding = [name for name in names if by_part and query and query.lower() in name.lower()]
    close = holding[:3] or get_close_matches(query, names, n=3, cutoff=0.5)
    return f" (perhaps {' or '.join(map(printable, close))})" if close else ""


def _live(*columns):
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Give a function that says how many of how many are done: a live line for a person, else a line now and then."""
    if not sys.stderr.isatty():
        said_at = time.monotonic()

        def show(n_done, n_all, doing=what):
            nonlocal said_at
            if time.monotonic() - said_at > EVERY_S:
                said_at = time.monotonic()
                print(f"{n_done:,} of {n_all:,} {doing}", file=sys.stderr, flush=True)

        yield show
        return
    with _live() as progress:
        task = progress.add_task(what, total=None)
        yield lambda n_done, n_all, doing=what: progress.update(task, completed=n_done, total=n_all, description=doing)


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show a person at a terminal what is being done, and for how long, once that takes more than two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = _live(SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    shown.add_task(what, total=None)
    timer = threading.Timer(PATIENCE_S, shown.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        shown.stop()
