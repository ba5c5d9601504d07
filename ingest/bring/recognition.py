"""Tell the format of recorded trials by the beginnings of some files."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pydantic_core import from_json

from ingest.archives import Archive, archive_of, archives
from ingest.texts.lines import walk, whole_characters
from ingest.warehouse import UserError, printable, scratch

if TYPE_CHECKING:
    import duckdb

MOST_FILES = 1024
MOST_BYTES = 16 << 20
# document A's archive holds a file of story 001: the import names a stray file, so it makes no folder ambiguous
NEARLY_ALL = 0.9
LINES = pa.schema({"file": pa.int64(), "line_number": pa.int64(), "line": pa.string()})


def recognised(path: Path, *, is_mapped: bool = False) -> Archive:
    """Return the format of a file or folder: what is none that bais knows may be a table of trials.

    With a mapping it is a table, if not one that has to be read in a way of its own.
    """
    path = Path(path).resolve()
    for archive in archives():
        if not is_mapped and archive.has_folder(path):
            return archive
    sizes, _, unreadable = walk(path)
    matches = _found(path, [file for file, size in sizes.items() if size])
    if is_mapped:
        matches = [(archive, files) for archive, files in matches if archive.select is not None]
    n_files = sum(len(files) for _, files in matches)
    is_one_whole = any(archive.is_folder for archive, _ in matches)
    for archive, files in matches:
        if len(files) == n_files or (len(files) >= NEARLY_ALL * n_files and not is_one_whole):
            return archive
    if matches:
        such_as = " and ".join(f"{archive.form} ({printable(files[0].name)})" for archive, files in matches)
        raise UserError(
            f"{printable(path)} holds files of several formats, {such_as}: say with --format which are meant"
        )
    table = archive_of("table")
    if any(map(table.has_ending, sizes)):
        return table
    such_as = "".join(f"; {printable(file.name)}: {why}" for file, why in list(unreadable.items())[:1])
    raise UserError(
        f"nothing usable in {printable(path)}: {len(sizes):,} files, none a table ({', '.join(table.suffix)}), nor of "
        f"another format that `bais import --help` names{such_as}"
    )


def _found(path: Path, files: list[Path]) -> list[tuple[Archive, list[Path]]]:
    """List the formats that some files have, with those files."""
    matches = []
    with _beginnings(files) as (memory, files, heads):
        for archive in archives():
            if not (archive.header or archive.file_name or archive.mark or archive.read_trials):
                continue  # a table looks like anything
            numbers = range(len(files))
            if archive.header:
                numbers = [n for n in numbers if all(name.encode() in _first_line(heads[n]) for name in archive.header)]
            elif not archive.file_name:
                trials = f"({archive.read_trials}) where kind is not null"
                marked = f"lines where {archive.mark}" if archive.mark else trials
                with_lines = {file for (file,) in memory.sql(f"select distinct file from {marked}").fetchall()}
                with_magic = {n for n in numbers if archive.magic and heads[n].startswith(archive.magic)}
                numbers = sorted(with_lines | with_magic)
            of_format = [files[number] for number in numbers if archive.has_ending(files[number])]
            if archive.is_folder:
                of_format = [file for file in of_format if file.parent == path]
            if of_format:
                matches.append((archive, of_format))
    # the tables of an export have the headers of files that it was made of
    is_export = any(archive.is_folder for archive, _ in matches)
    return [(archive, files) for archive, files in matches if not (is_export and archive.header)]


@contextlib.contextmanager
def _beginnings(files: list[Path]) -> "Iterator[tuple[duckdb.DuckDBPyConnection, list[Path], list[bytes]]]":
    """Open a table `lines` over the objects at the beginnings of some files; yield it with these, and what was read."""
    files = files[:: len(files) // MOST_FILES + 1]
    n_bytes = max(MOST_BYTES // MOST_FILES, min(MOST_BYTES // max(len(files), 1), 1 << 20))
    heads = [_head(file, n_bytes) for file in files]
    objects = [(file, number, line) for file, head in enumerate(heads) for number, line in enumerate(_objects(head))]
    with scratch() as memory:
        memory.register("objects", pa.table(list(zip(*objects, strict=True)) or [[]] * len(LINES), schema=LINES))
        memory.execute("create temp table lines as from objects where try(json_type(line)) = 'OBJECT'")
        yield memory, files, heads


def of_one_study(archive: Archive, path: Path, study: str | None) -> Archive:
    """Return a format whose lines name their study with the one to import: named by a person, or the only one."""
    path = Path(path).resolve()
    sizes, _, _ = walk(path)
    with _beginnings([file for file, size in sizes.items() if size and archive.has_ending(file)]) as (memory, _, _):
        kinds = f"select distinct kind from ({archive.read_trials}) where kind is not null order by kind"
        studies = [kind for (kind,) in memory.sql(kinds).fetchall()]
    if study is None and len(studies) > 1:
        there = " and ".join(map(printable, studies))
        raise UserError(f"{printable(path)} holds trials of several studies, {there}: say with --study which is meant")
    study = study or next(iter(studies), None)
    return replace(archive, study=study, vignettes=archive.vignettes_of(study) if study else {})


def _head(file: Path, n_bytes: int) -> bytes:
    with contextlib.suppress(OSError), open(file, "rb") as stream:
        return stream.read(n_bytes)
    return b""


def _first_line(head: bytes) -> bytes:
    """Return the header of a CSV file; of what is JSON or Parquet, all that names columns may stand in."""
    return head if head[:1] in (b"{", b"[", b"P") else head.partition(b"\n")[0]


def _objects(head: bytes) -> Iterator[str]:
    """Yield what may be JSON objects: the whole lines, and of a document, or a long first line, as much as was read."""
    text = whole_characters(head.decode("utf-8-sig", "replace"))
    yield from text.split("\n")
    with contextlib.suppress(ValueError):
        document = from_json(text, allow_partial=True)
        yield from map(json.dumps, document if isinstance(document, list) else [document])
