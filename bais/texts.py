"""Texts that a command writes: whole or not at all, only where no file is yet, and refused if not grounded."""

import contextlib
import csv
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from bais.terminal import complain
from ingest.warehouse import UserError, printable, why_not_written

LLM_SILENT, UNGROUNDED = 4, 5
MOST_PROBLEMS = 10


def refuse_existing(path: Path, option: str) -> None:
    """Refuse, before anything is asked, a path that a file cannot be written to, or that has one."""
    folder = path.absolute().parent
    if path.exists() or path.is_symlink():
        raise UserError(f"{option} {printable(path)} is there already: move it away or name another file")
    if not folder.is_dir():
        raise UserError(f"{option} {printable(path)}: there is no folder {printable(folder)}")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{option} {printable(path)}: the folder cannot be written")


@contextlib.contextmanager
def writing(path: Path, what: str = "", to: str = "") -> Iterator[None]:
    """Say in a sentence what cannot be written, and why."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what or printable(path)} cannot be written{to}: {why_not_written(error, path)}") from None


def csv_of(names: list[str], rows: list[dict]) -> str:
    """Write rows as CSV: null as nothing, and truth in lower case."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: str(row[name]).lower() if isinstance(row[name], bool) else row[name] for name in names})
    return text.getvalue()


def write_new(path: Path, text: str, what: str) -> None:
    """Write a file whole or not at all."""
    with writing(path, what, f" to {printable(path)}"), open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)


def hand_over(text: str, path: Path | None, what: str, name: str | None = None, stream=None) -> None:
    """Write a text to a file that is new or, without one, show it."""
    if path:
        write_new(path, text, what)
    else:
        show(text, name, stream)


def show(text: str, name: str | None = None, stream=None) -> None:
    """Print a text line by line, escaped; with a name between lines that say where it begins and ends."""
    shown = "\n".join(printable(line) for line in text.splitlines())
    marked = f"----- BEGIN {name} -----\n{shown}\n----- END {name} -----" if name else shown
    print(marked, file=stream or sys.stdout)


def refuse(what: str, text: str, problems: list[str], wanted: Path) -> int:
    """Say what is wrong with a text that is not grounded, keep it beside its place, and return the exit code."""
    for problem in problems[:MOST_PROBLEMS]:
        complain(f"{what} is refused: {printable(problem)}")
    if len(problems) > MOST_PROBLEMS:
        complain(f"and {len(problems) - MOST_PROBLEMS} more")
    named = (wanted.with_name(f"{wanted.name}.refused{ending}") for ending in ("", *(f"-{n}" for n in range(2, 1000))))
    kept_as = next(path for path in named if not (path.exists() or path.is_symlink()))
    try:
        write_new(kept_as, text, f"the refused {what.removeprefix('the ')}")
        complain(f"the refused text is in {printable(kept_as)}")
    except UserError as error:
        complain(str(error))
    return UNGROUNDED
