"""Read the lines of text files in bounded memory, whatever the files hold."""

import codecs
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ingest.warehouse import UserError, printable

LONGEST_LINE_BYTES = 64 << 20
KEPT_BYTES = 1 << 20
LEADS_OUT = "a link that leads out of the imported folder is not followed: copy what it leads to into the folder"
BLANKS = b" \t\r"
ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


@dataclass(frozen=True)
class Block:
    """Some whole lines of one file, each with its newline."""

    file: int
    first_line: int
    data: bytes


class Line(NamedTuple):
    """A line of a file that is not what the file should hold, and why."""

    file: str
    number: int | None
    text: str
    reason: str

    @property
    def place(self) -> str:
        """Where it stands: a file that is none as a whole has no lines."""
        return f"{self.file}{f':{self.number}' if self.number else ''}"


def quarantine_rows(lines: Iterable[Line], study: str, stamp: datetime) -> list[dict]:
    """Return the rows of `raw.quarantined_lines` that some lines are."""
    return [
        {
            "quarantine_id": hashlib.sha256("\n".join(map(str, (study, *line))).encode()).hexdigest()[:32],
            "study": study, "source_file": line.file, "line_number": line.number, "text": line.text,
            "reason": line.reason, "quarantined_at": stamp,
        }
        for line in lines
    ]  # fmt: skip


def beginning(line: bytes, reason: str) -> tuple[str, str]:
    """Return what is kept of an unreadable line, and the reason, which says so if that is not all of it."""
    if len(line) > KEPT_BYTES:
        reason += f"; only its first {KEPT_BYTES >> 20} MB is kept"
    return line[:KEPT_BYTES].decode("utf-8", "backslashreplace").replace("\0", "\\0"), reason


def whole_characters(text: str) -> str:
    """Put U+FFFD in place of each half of a surrogate pair (``\\ud83d``) in JSON: legal for many, not for DuckDB."""
    return ESCAPE.sub(lambda m: "\\ufffd" if LONE_SURROGATE.fullmatch(m[0]) else m[0], text)


def repeated_keys(pairs: list[tuple[str, object]]) -> list[str]:
    """Name the keys that an object of JSON has more than once."""
    if len(dict(pairs)) == len(pairs):
        return []
    return [key for key, n in Counter(key for key, _ in pairs).items() if n > 1]


def walk(folder: Path) -> tuple[dict[Path, int], dict[Path, str], dict[Path, str]]:
    """List the sizes of the regular files below a folder, sorted, each once; what was left out; what is unreadable."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        raise UserError(
            f"there is no {printable(folder)}: give a file of recorded trials, or a folder that holds some"
        ) from None
    except OSError as error:
        raise UserError(f"{printable(folder)} cannot be read: {error.strerror}") from None
    if stat.S_ISREG(status.st_mode):
        return {folder: status.st_size}, {}, {}
    if not stat.S_ISDIR(status.st_mode):
        raise UserError(
            f"{printable(folder)} is no file that lies on a disk, nor a folder: write what it gives into one and "
            "import that"
        )
    statuses, skipped, unreadable = {}, {}, {}
    root = os.path.realpath(folder)

    def refuse(error):
        unreadable[Path(error.filename)] = f"the folder cannot be read: {error.strerror}"

    def leaves(path):
        """Whether a path is a link that leads out of the folder; it is then unreadable."""
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
            unreadable[path] = LEADS_OUT
        return path in unreadable

    for parent, folders, names in os.walk(folder, onerror=refuse):
        for path in (Path(parent, name) for name in folders):
            if path.is_symlink() and not leaves(path):
                skipped[path] = "a link to a folder"
        for path in (Path(parent, name) for name in names if not leaves(Path(parent, name))):
            try:
                statuses[path] = path.stat()
            except OSError as error:
                unreadable[path] = f"the file cannot be read: {error.strerror}"
    files, by_identity = {}, {}
    for path in sorted(statuses, key=lambda path: (path.is_symlink(), path)):
        status = statuses[path]
        if not stat.S_ISREG(status.st_mode):
            unreadable[path] = "not a regular file"
            continue
        first = by_identity.setdefault((status.st_dev, status.st_ino), path)
        if first == path:
            files[path] = status.st_size
        else:
            skipped[path] = "a link to a file that is read"
    return files, skipped, unreadable


def read_blocks(path: Path, file: int, block_bytes: int) -> Iterator[Block]:
    """Read a file, to be called `file`, as blocks of whole lines of about a size, without its byte-order mark.

    A longer line is still read whole, up to `LONGEST_LINE_BYTES`; of one that is longer yet, a little more than that.
    """
    number = 1
    with open(path, "rb") as stream:
        while data := stream.read(block_bytes):
            if not data.endswith(b"\n"):
                data += stream.readline(LONGEST_LINE_BYTES + 1)
            if not data.endswith(b"\n"):
                data += b"\n"
                while (more := stream.readline(block_bytes)) and not more.endswith(b"\n"):
                    pass
            if number == 1:
                data = data.removeprefix(codecs.BOM_UTF8)
            yield Block(file, number, data)
            number += data.count(b"\n")


def blocks_of(lines: Iterable[str], file: int, block_bytes: int) -> Iterator[Block]:
    """Put texts without newlines together into blocks of lines, as if they were those of a file."""
    first, gathered, size = 1, [], 0
    for line in lines:
        gathered.append(line.encode() + b"\n")
        size += len(gathered[-1])
        if size >= block_bytes:
            yield Block(file, first, b"".join(gathered))
            first, gathered, size = first + len(gathered), [], 0
    if gathered:
        yield Block(file, first, b"".join(gathered))


def split_blocks(blocks: list[Block]) -> tuple[pa.Table, list[Line], int]:
    """Take blocks apart into `file`, `line_number` and `line`, without the blanks around lines.

    Apart from these: lines that are not UTF-8, hold NUL bytes or are longer than `LONGEST_LINE_BYTES`; and how many
    are blank.
    """
    files, numbers, lines, bad, n_blank = [], [], [], [], 0
    for block in blocks:
        for number, line in enumerate(block.data.removesuffix(b"\n").split(b"\n"), block.first_line):
            line = line.strip(BLANKS)
            if reason := _defect(line):
                bad.append(Line(block.file, number, *beginning(line, reason)))
            elif line:
                files.append(block.file)
                numbers.append(number)
                lines.append(line)
            else:
                n_blank += 1
    good = {"file": pa.array(files, pa.int64()), "line_number": pa.array(numbers, pa.int64())}
    return pa.table(good | {"line": pa.array(lines, pa.binary()).cast(pa.string())}), bad, n_blank


def _defect(line):
    if len(line) > LONGEST_LINE_BYTES:
        return f"longer than {LONGEST_LINE_BYTES >> 20} MB"
    if b"\0" in line:
        return "binary: it holds NUL bytes"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte 0x{line[error.start]:02x} at column {error.start + 1}"
    return None


def gather(items: Iterable, size: Callable[..., int], enough: int) -> Iterator[list]:
    """Put items together into lists, each of which ends with the item that brings its sizes to `enough`."""
    gathered, total = [], 0
    for item in items:
        gathered.append(item)
        total += size(item)
        if total >= enough:
            yield gathered
            gathered, total = [], 0
    if gathered:
        yield gathered
