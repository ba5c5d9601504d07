"""A mapping: a SELECT over `source` that yields columns called as ours, put to a process of its own.

docs/importing.md says what a person has to know of it.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, ValidationError, model_validator

from ingest.archives import Archive
from ingest.archives.table import ARCHIVE as TABLE
from ingest.archives.table import AS_IT_IS, KINDS
from ingest.bring.child import UNCLEAN
from ingest.bring.columns import OF_VIGNETTES, TIMEOUT_S
from ingest.bring.tables import SOURCE, Tables, endings_of, kind_of
from ingest.paradigms.paradigm import DIFFERS, SAME
from ingest.texts.documents import read_records
from ingest.texts.files import (
    NAME_PATTERN,
    OF_PATTERNS,
    Finite,
    Part,
    found_wrong,
    refuse_turned_range,
    text_of,
    units_meant,
)
from ingest.texts.lines import gather, walk
from ingest.warehouse import ROOT, UserError, printable, sha256_of

NEW = "new"
THREADS = min(os.cpu_count() or 1, 4)  # each has buffers, and what comes after has the work
ROWS_A_SECOND = 5_000  # that take no time of it, since they have to be landed meanwhile
CANNOT_BE_READ = "{} holds CSV that cannot be read even line by line"
NOT_A_NAME = re.compile(r"[^a-z0-9._-]+")


@dataclass(frozen=True)
class Given:
    """What a person says of how a table becomes trials."""

    path: Path | None = None  # of the mapping; `new` writes one
    beside: tuple[tuple[str, Path], ...] = ()
    timeout_s: float = TIMEOUT_S


class Vignette(Part):
    """What the seeds say of the vignettes of the shipped studies."""

    domain: Annotated[str, Field(min_length=1)]
    response_unit: Annotated[str, Field(min_length=1)] | None
    valid_min: Finite | None = None
    valid_max: Finite | None = None
    baseline_prompt: Literal[SAME, DIFFERS] | None = None
    differs_by: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _can_be(self):
        for meant in units_meant(self.response_unit or ""):
            raise ValueError(f"response_unit {self.response_unit} is no unit that numbers can be read in{meant}")
        refuse_turned_range(self)
        if (self.baseline_prompt == DIFFERS) != (self.differs_by is not None):
            raise ValueError(
                "baseline_prompt and differs_by: where the unanchored prompt differs by more than the anchor, say "
                "`differs` and in differs_by what differs, else neither or `same`"
            )
        return self


def with_mapping(archive: Archive, folder: Path, given: Given, study: str | None) -> Archive:
    """Return a format with what `--map` and `--study` say of it, or say why they do not fit."""
    if archive.select is None:
        if (given.path or study or given.beside) and archive.is_folder:
            raise UserError("an export says itself which study its trials belong to: leave out --map and --study")
        if given.path or given.beside or (study and not (archive.is_study_the_kind or archive.names_study)):
            raise UserError(
                f"--map, --with and --study are for tables of trials, and {archive.form} needs none of them: leave "
                "them out, or say with --format table that it is a table"
            )
        return replace(archive, study=study) if archive.names_study else archive
    names = [name for name, _ in given.beside]
    for name, path in given.beside:
        if names.count(name) > 1:
            raise UserError(f"--with {name} is given twice: call one of the tables otherwise")
        if not path.is_file():
            raise UserError(f"--with {printable(name)}: there is no file {printable(path)}")
    folder = Path(folder).resolve()
    if archive.read is None:
        endings = endings_of(walk(folder)[0])
        archive = replace(archive, suffix=endings, read=read_records if endings == KINDS["records"] else None)
    select = archive.select if given.path is None else _mapping_text(given.path)
    return replace(
        archive, study=study or archive.study, select=select, own_id="line ->> '$.own_id'",
        own_name="trials.source_name", path_in_archive=lambda path: path_below(folder, path),
    )  # fmt: skip


def path_below(folder: Path, path: Path) -> str:
    """Return what a file is called that an import of a folder, or of that file, brings."""
    return path.name if path == folder else path.relative_to(folder).as_posix()


def _mapping_text(path):
    if path.suffix.lower() in (".yaml", ".yml"):
        raise UserError(
            f"{printable(path)}: a mapping is a SELECT now, not YAML: `--map {NEW}` in the place of the file writes "
            "one to fill in (docs/importing.md)"
        )
    return text_of(path)


def study_named(folder: Path) -> str:
    """Return what the study of a file or folder is called if nobody says it: as that is."""
    name = folder.name.partition(".")[0] or folder.name
    return NOT_A_NAME.sub("-", name.lower()).strip("._-")[:100] or "imported"


def with_files(beside: tuple[tuple[str, Path], ...]) -> str:
    """Say, in comments below a mapping, what was beside it: with another file it is another mapping."""
    return "".join(f"\n-- --with {name}={printable(path.name)} {sha256_of(path)}" for name, path in beside)


class Mapping:
    """A mapping of an import, as it is put to a process of its own."""

    def __init__(self, archive: Archive, folder: Path, given: Given, scratch: Path):
        self.archive, self.folder, self.given, self.scratch = archive, folder, given, scratch
        self.tables = Tables(scratch, archive.read or read_records)
        self.n_rows, self.n_yielded = {}, Counter()  # by file, how many it holds and how many the mapping yields
        self.names: list[str] = []  # the columns that it yields
        self.techniques_left_out = {}  # columns that may say the technique, with their values
        self.studies, self.vignettes, self.chosen = set(), set(), set()  # as its rows say; of what has no unit
        is_map = given.path is not None
        self.name = printable(given.path) if is_map else printable(folder.name)
        self.is_map = is_map or archive.select != AS_IT_IS
        to_write = f"`bais import {printable(folder)} --map {NEW}` writes a mapping to fill in"
        self.to_do = "see docs/importing.md" if is_map else to_write

    @property
    def text(self) -> str:
        """The SELECT, and which files were beside it."""
        return self.archive.select.strip() + with_files(self.given.beside)

    def take(self, files: dict[Path, str], records: Path | None) -> None:
        """Take the files of an import, as they are called, or the records that were read in them; and those beside."""
        if records:
            self.tables.add_records(SOURCE, records)
        else:
            self.tables.add(SOURCE, files)
        for name, path in self.given.beside:
            if kind_of(path) is None:
                raise UserError(
                    f"--with {printable(name)}: {printable(path)} is no table: its name should end in one of "
                    f"{', '.join(TABLE.suffix)}"
                )
            path = path.resolve()
            self.tables.add(name, {path: path.name}, is_beside=True)

    def chunks(self, files: list[str], n_bytes: int) -> Iterator[pa.Table]:
        """Yield what the mapping yields of files, each row with the number of its file and its own among that file's.

        With the first chunk `names` and `n_rows` are known, and the study.
        """
        number_of = {file: n for n, file in enumerate(files)}
        for batches in gather(self.rows(files), lambda batch: batch.nbytes, n_bytes):
            table = pa.Table.from_batches(batches).combine_chunks()
            if table["filename"].null_count:
                raise UserError(f"{self.name} yields a row without filename: let it yield that of source")
            names = table["filename"].chunk(0).dictionary_encode()
            if unknown := [name for name in names.dictionary.to_pylist() if name not in number_of]:
                raise UserError(
                    f"{self.name} yields {printable(unknown[0])} in filename, which is none of the files: let it yield "
                    "filename of source as it is"
                )
            self._note(table)
            of_rows = np.array([number_of[name] for name in names.dictionary.to_pylist()])[names.indices.to_numpy()]
            lines = np.empty(len(of_rows), dtype=np.int64)
            for file in np.unique(of_rows):
                places = np.flatnonzero(of_rows == file)
                lines[places] = np.arange(1, len(places) + 1) + self.n_yielded[files[file]]
                self.n_yielded[files[file]] += len(places)
            placed = pa.table({"file": of_rows.astype(np.int64), "line_number": lines})
            for column in table.column_names[1:]:
                placed = placed.append_column(column, table[column])
            yield placed

    def _note(self, table):
        """Take account of what rows say of the study and of vignettes; refuse a NUL."""
        if self.archive.study is None and "study" in self.names:
            self.studies.update(table["study"].unique().to_pylist())
            if len(self.studies) > 1:
                named = " and ".join(sorted(printable(study or "none") for study in self.studies))
                raise UserError(
                    f"{self.name} yields trials of several studies, {named}: let it yield those of one, with a WHERE"
                )
        if not OF_VIGNETTES.keys().isdisjoint(self.names):
            rows = table.select(["vignette", *OF_VIGNETTES]).group_by(["vignette", *OF_VIGNETTES]).aggregate([])
            self.vignettes |= {tuple(row.values()) for row in rows.to_pylist() if row["vignette"]}
        for column in {"choice", "label"}.intersection(self.names):
            self.chosen.update(table.filter(pc.is_valid(table[column]))["vignette"].unique().to_pylist())
        for column in table.column_names if pc.any(pc.match_substring(table["line"], r"\u0000")).as_py() else ():
            if pc.any(pc.match_substring(table[column], "\0")).as_py():
                raise UserError(
                    f"{self.name} yields a NUL in {column}, which no text holds: take it out, in a mapping with "
                    f"replace({column}, chr(0), '')"
                )

    @property
    def study(self) -> str:
        """The study that the rows belong to: as a person says, as they say, or called as what they lie in."""
        said = self.archive.study or next(iter(self.studies), None) or study_named(self.folder)
        if not re.fullmatch(NAME_PATTERN, said):
            raise UserError(f"the study {printable(said)} {OF_PATTERNS[NAME_PATTERN]}: name another one with --study")
        return said

    def vignettes_stated(self) -> list[dict]:
        """Return what the rows say of vignettes, checked: each once, and the same in all of its rows."""
        said = {}
        for vignette, *values in sorted(self.vignettes, key=str):
            before = said.setdefault(vignette, values)
            if before != values:
                column, *both = next(
                    told for told in zip(OF_VIGNETTES, before, values, strict=True) if told[1] != told[2]
                )
                raise UserError(
                    f"{self.name} says two things of the vignette {printable(vignette)}: {column} is "
                    f"{' and '.join(printable(value or 'empty') for value in both)}; it should be the same in all of "
                    "its rows"
                )
        rows = {vignette: values for vignette, values in said.items() if any(values)}
        return [{"vignette": vignette, **self._checked(vignette, values)} for vignette, values in rows.items()]

    def _checked(self, vignette, values):
        said = dict(zip(OF_VIGNETTES, values, strict=True))
        if said["response_unit"] is None and vignette not in self.chosen:
            where = f"{self.name}: vignette {printable(vignette)}"
            raise UserError(f"{where}: response_unit is empty: say in which unit its numbers are")
        try:
            return Vignette.model_validate(said).model_dump()
        except ValidationError as error:
            raise UserError(printable(f"{self.name}: vignette {vignette}: {found_wrong(error)[1]}")) from None

    def rows(self, files: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield what the mapping yields of files of some names; `n_rows` and `names` are known with the first rows."""
        spec = {
            "name": self.name, "select": self.archive.select, "is_map": self.is_map, "n_files": len(files),
            "only_file": files[0] if files else "", "where": self.name if self.is_map else f"the table {self.name}",
            "to_do": self.to_do, "looks": False,
        }  # fmt: skip
        if not self.is_map:  # what is taken as it is needs no whole beside its parts
            self.tables.leave_out_wholes()
        for attempt in range(2):
            try:
                yield from self._stream(spec)
                return
            except Unclean:
                if attempt or self.names:
                    raise UserError(CANNOT_BE_READ.format(self.name)) from None
                self.tables.clean()

    def describe_tables(self) -> dict[str, list]:
        """Return of each table its columns: name, type and some values."""
        for _ in range(2):
            try:
                with self._child({"name": self.name, "looks": True}) as child:
                    described = child.process.stdout.read()
                return json.loads(described)
            except Unclean:
                self.tables.clean()
        raise UserError(CANNOT_BE_READ.format(self.name))

    def _stream(self, spec):
        with self._child(spec) as child:
            try:
                with pa.ipc.open_stream(child.process.stdout) as stream:
                    told = stream.schema.metadata
                    self.n_rows, self.names = json.loads(told[b"rows"]), json.loads(told[b"names"])
                    self.techniques_left_out = json.loads(told[b"techniques"])
                    child.give(sum(self.n_rows.values()) / ROWS_A_SECOND)
                    yield from stream
            except (pa.ArrowInvalid, OSError):  # it said why it ended
                child.process.stdout.read()

    def _child(self, spec):
        return _Child(spec | {"tables": self.tables.tables, "threads": THREADS}, self.scratch, self.given.timeout_s)


class Unclean(Exception):
    """A CSV file holds lines that are none."""


class _Child:
    """A process of its own, as long as it is asked: what keeps it from its end is said in one sentence."""

    def __init__(self, spec, scratch, timeout_s):
        self.name, self.timeout_s, self.is_late = spec["name"], timeout_s, False
        scratch.mkdir(parents=True, exist_ok=True)
        self.said, path = scratch / "said.txt", scratch / "spec.json"
        path.write_text(json.dumps(spec | {"spill": str(scratch / "spill")}), encoding="utf-8")
        self.command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
                        f"from ingest.bring.child import main; sys.exit(main(sys.argv[1]))", str(path)]  # fmt: skip

    def __enter__(self):
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, cwd=self.said.parent
            )
        self.timer = threading.Timer(self.timeout_s, self._end)
        self.timer.start()
        return self

    def give(self, seconds: float) -> None:
        """Give it more time."""
        self.timer.cancel()
        self.timer = threading.Timer(self.timeout_s + seconds, self._end)
        self.timer.start()

    def _end(self):
        self.is_late = True
        self.process.kill()

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.process.kill()
        self.process.stdout.close()
        code = self.process.wait()
        self.timer.cancel()
        if kind is not None and not self.is_late:
            return
        said = self.said.read_text(encoding="utf-8", errors="replace").strip()
        if self.is_late:
            raise UserError(
                f"{self.name} was not done after {self.timeout_s:g} s and was ended: mend it, or "
                "give it more time with --timeout"
            )
        if code == UNCLEAN:
            raise Unclean
        if code == 2 and said:
            raise UserError(printable(said))
        if code:
            raise UserError(
                f"{self.name} needs more memory than a mapping gets, or cannot be run (its process ended with {code}): "
                "let it hold fewer rows or shorter texts at once"
            )
