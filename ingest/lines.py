"""Read the lines of text files in bounded memory, whatever the files hold."""

import codecs
import os
import stat
from dataclasses import dataclass
from pathlib import Path

CHUNK_BYTES = 16 << 20
LONGEST_LINE_BYTES = 64 << 20
KEPT_OF_A_LONGER_LINE = 1 << 20


@dataclass(frozen=True)
class Line:
    """One line of a file, or (`number` is None) something said of the file as a whole."""

    number: int | None
    text: str
    reason: str | None = None


def walk(folder):
    """List the regular files below a folder, sorted, and what could not be looked into.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    files : list of Path
    unreadable : list of (Path, str)
        Folders and files that could not be looked into, each with the reason.
    """
    files, unreadable = [], []

    def refuse(error):
        unreadable.append((Path(error.filename), f"the folder cannot be read: {error.strerror}"))

    for parent, _, names in os.walk(folder, onerror=refuse):
        for name in names:
            path = Path(parent, name)
            try:
                if stat.S_ISREG(path.stat().st_mode):
                    files.append(path)
                else:
                    unreadable.append((path, "not a regular file"))
            except OSError as error:
                unreadable.append((path, f"the file cannot be read: {error.strerror}"))
    return sorted(files), sorted(unreadable)


def read_lines(path, chunk_bytes=CHUNK_BYTES):
    """Read a file as chunks of numbered lines, undecodable ones apart.

    A byte-order mark, carriage returns at line ends and blank lines are no part of any line.

    Parameters
    ----------
    path : Path
    chunk_bytes : int
        About how much is held at a time; a longer line is still read whole, up to `LONGEST_LINE_BYTES`.

    Yields
    ------
    numbers : list of int
        Counted from 1.
    texts : list of str
    bad : list of Line
        Lines that are not UTF-8, hold NUL bytes or are longer than `LONGEST_LINE_BYTES`, as far as they can be shown.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    number = 0
    with open(path, "rb") as file:
        for lines in _chunks_of_lines(file, chunk_bytes):
            if number == 0 and lines and lines[0].startswith(codecs.BOM_UTF8):
                lines[0] = lines[0][len(codecs.BOM_UTF8) :]
            first, number = number + 1, number + len(lines)
            yield _decode(lines, first)


def _chunks_of_lines(file, chunk_bytes):
    rest = b""
    while block := file.read(chunk_bytes):
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield (rest + head).split(b"\n")
            rest = tail
        else:
            rest += tail
        if len(rest) > LONGEST_LINE_BYTES:
            rest = rest[: LONGEST_LINE_BYTES + 1]
            while block and b"\n" not in block:
                block = file.read(chunk_bytes)
            yield [rest]
            rest = block.partition(b"\n")[2]
    if rest:
        yield rest.split(b"\n")


def _decode(lines, first_number):
    numbers, texts, bad = [], [], []
    for number, line in enumerate(lines, first_number):
        line = line.strip(b" \t\r")
        if not line:
            continue
        reason = None
        if len(line) > LONGEST_LINE_BYTES:
            reason = f"longer than {LONGEST_LINE_BYTES >> 20} MB"
            line = line[:KEPT_OF_A_LONGER_LINE]
        elif b"\0" in line:
            reason = "binary: it holds NUL bytes"
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            text = line.decode("utf-8", "backslashreplace")
            reason = reason or f"not UTF-8: byte 0x{line[error.start]:02x} at column {error.start + 1}"
        if reason:
            bad.append(Line(number, text.replace("\0", "\\0"), reason))
        else:
            numbers.append(number)
            texts.append(text)
    return numbers, texts, bad
