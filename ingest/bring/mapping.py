"""Tables of trials: a mapping is a SELECT over `source`, which yields columns that are called as ours.

What it yields becomes trials here: numbers are read in texts by the rule that the models read with, and a row of which
a condition cannot be read is set apart. docs/importing.md says what a person has to know of it.
"""

import json
import re
import subprocess
import sys
import tempfile
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

from ingest.archives import Archive, archive_of, complaint
from ingest.archives.table import ARCHIVE as TABLE
from ingest.archives.table import AS_IT_IS, KINDS
from ingest.ask.responses import macros
from ingest.bring.columns import ANSWERS, KNOWN, NEEDED, OF_VIGNETTES, in_a_row, meant, missing
from ingest.bring.recognition import recognised
from ingest.bring.tables import SOURCE, Tables, endings_of, kind_of
from ingest.paradigms.paradigm import ANCHORING, DIFFERS, NO_TECHNIQUE, SAME, load_paradigm, shipped_paradigms
from ingest.texts.documents import read_records
from ingest.texts.files import NAME_PATTERN, OF_PATTERNS, Finite, Part, found_wrong, text_of
from ingest.texts.lines import gather, walk
from ingest.warehouse import ROOT, UserError, printable, quoted, sha256_of

NEW = "new"
TIMEOUT_S = 600
ROWS_A_SECOND = 5_000  # that take no time of it, since they have to be landed meanwhile
LONGEST_TYPE = 400  # that a new mapping shows
UNCLEAN = 3
CHILD = "ingest.bring.child"
NOT_A_NAME = re.compile(r"[^a-z0-9._-]+")
KINDS_OF_COLUMNS = {
    "anchor_value": "number",
    "temperature": "number",
    "replicate": "whole number",
    "first_number": "number",
    "asked_at": "time",
    "tokens": "whole number",
    "cost": "number",
    "valid_min": "number",
    "valid_max": "number",
}
DIRECTIONS = ("none", "low", "high")


@dataclass(frozen=True)
class Given:
    """What a person says of how a table becomes trials."""

    path: Path | None = None  # of the mapping; `new` writes one
    beside: tuple[tuple[str, Path], ...] = ()
    timeout_s: float = TIMEOUT_S


class Vignette(Part):
    """What the seeds say of the vignettes of the shipped studies."""

    domain: Annotated[str, Field(min_length=1)]
    response_unit: Annotated[str, Field(min_length=1)]
    valid_min: Finite | None = None
    valid_max: Finite | None = None
    baseline_prompt: Literal[SAME, DIFFERS] | None = None
    differs_by: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _says_what_differs(self):
        if (self.baseline_prompt == DIFFERS) != (self.differs_by is not None):
            raise ValueError(
                "baseline_prompt and differs_by: where the unanchored prompt differs by more than the anchor, say "
                "`differs` and in differs_by what differs, else neither or `same`"
            )
        return self


def mapped(archive: Archive, folder: Path, given: Given, study: str | None) -> Archive:
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
    for name, path in given.beside:
        if not path.is_file():
            raise UserError(f"--with {printable(name)}: there is no file {printable(path)}")
    folder = Path(folder).resolve()
    if archive.read is None:
        endings = endings_of(walk(folder)[0])
        archive = replace(archive, suffix=endings, read=read_records if endings == KINDS["records"] else None)
    select = archive.select if given.path is None else _mapping_text(given.path)
    return replace(
        archive, study=study, select=select, own_id="line ->> '$.own_id'", own_name="trials.source_name",
        path_in_archive=lambda path: path_below(folder, path),
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
        self.studies, self.vignettes = set(), set()  # as its rows say
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

    def declared(self) -> list[dict]:
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
        try:
            return Vignette.model_validate(dict(zip(OF_VIGNETTES, values, strict=True))).model_dump()
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
                    raise UserError(f"{self.name} holds CSV that cannot be read even line by line") from None
                self.tables.clean()

    def looked_at(self) -> dict[str, list]:
        """Return of each table its columns: name, type and some values."""
        for _ in range(2):
            try:
                with self._child({"name": self.name, "looks": True}) as child:
                    return json.loads(child.process.stdout.read())
            except Unclean:
                self.tables.clean()
        return {}

    def _stream(self, spec):
        with self._child(spec) as child:
            try:
                with pa.ipc.open_stream(child.process.stdout) as stream:
                    told = stream.schema.metadata
                    self.n_rows, self.names = json.loads(told[b"rows"]), json.loads(told[b"names"])
                    child.give(sum(self.n_rows.values()) / ROWS_A_SECOND)
                    yield from stream
            except (pa.ArrowInvalid, OSError):  # it said why it ended
                child.process.stdout.read()

    def _child(self, spec):
        return _Child(spec | {"tables": self.tables.tables}, self.scratch, self.given.timeout_s)


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
                        f"from {CHILD} import main; sys.exit(main(sys.argv[1]))", str(path)]  # fmt: skip

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


# Over `lines`, what a mapping yields, each column a text; what no row has a column for is null. A text is read once.
READ_TRIALS = """
with told as (
    select
        lines.*,
        coalesce(lines.paradigm, {anchoring}) as of_paradigm,
        coalesce(
            of_paradigms.answer_kind,
            case
                when choice is not null then 'choice'
                when label is not null then 'label'
                when {has_number} or of_paradigm = {anchoring} then 'number'
                else 'text'
            end
        ) as kind_asked,
        of_paradigms.options as options_known,
        coalesce(lines.response_unit, seeded.response_unit) as unit,
        coalesce(try_cast(lines.valid_min as double), seeded.valid_min) as least,
        coalesce(try_cast(lines.valid_max as double), seeded.valid_max) as most,
        case when not {has_number} and kind_asked = 'number' then text end as text_to_read
    from lines
    left join of_paradigms on lines.paradigm = of_paradigms.paradigm
    left join seeded using (vignette)
),

texts as (
    select distinct text_to_read, unit from told where text_to_read is not null
),

readings as (
    select *, {reading} as found from texts
),

numbers as (
    select
        told.*,
        coalesce(try_cast(number as double), struct_extract(found, 'response'), {by_range}) as number_read,
        struct_extract(found, 'status') = 'refused' as is_refused,
        text is null and number is null and choice is null and label is null and error is not null as is_failed
    from told
    left join readings
        on told.text_to_read = readings.text_to_read and told.unit is not distinct from readings.unit
),

judged as (
    select *, case {complaints} end as complaint from numbers
)

select
    file,
    line_number,
    line,
    case when complaint is null then of_paradigm end as kind,
    null::varchar as looks_like,
    complaint,
    llm as llm_recorded,
    llm_returned,
    vignette,
    coalesce(technique, {no_technique}) as technique,
    coalesce(
        anchor_direction,
        case
            when of_paradigm = {anchoring} then coalesce(arm, case when anchor_value is null then 'none' end)
            else 'none'
        end
    ) as anchor_direction,
    try_cast(anchor_value as double) as anchor_value,
    try_cast(temperature as double) as temperature,
    try_cast(replicate as bigint) as replicate,
    case when is_failed then 'failed' when is_refused then 'refused' end as status_recorded,
    case when is_failed then error[:1000] end as reason_recorded,
    case when kind_asked = 'number' then number_read end as response_recorded,
    try_cast(first_number as double) as first_response,
    coalesce(choice, label, text, case when isfinite(number_read) is not true then number end) as response_text,
    {protocol} as protocol,
    coalesce(prompt_hash, md5(prompt)) as prompt_hash,
    prompt as prompt_text,
    try_cast(asked_at as timestamptz) as asked_at,
    nullif(of_paradigm, {anchoring}) as paradigm,
    item,
    case when of_paradigm != {anchoring} then arm end as arm,
    case when kind_asked = 'choice' then coalesce(option_order, options_known) end as option_order,
    nullif(kind_asked, 'number') as answer_kind,
    source_name,
    try_cast(tokens as bigint) as tokens_out,
    try_cast(cost as double) as cost_usd
from judged
"""

# What the seeds say of the study's vignettes, and what the shipped paradigms ask for.
PREPARE = """
create table seeded as
select vignette, response_unit, try_cast(valid_min as double) as valid_min, try_cast(valid_max as double) as valid_max
from read_csv(getvariable('seeds') || '/vignettes.csv', all_varchar = true)
where study = getvariable('study');

create table calls (
    call_id varchar, trial_id varchar, study varchar, turn bigint, attempt bigint, asked_at timestamptz,
    returned_model varchar, tokens_out bigint, cost_usd double, cost_source varchar
)
"""

KEEP_CALLS = """
insert into calls
select
    trial_id || '-1-1', trial_id, getvariable('study'), 1, 1, asked_at, llm_returned, tokens_out, cost_usd,
    case when cost_usd is not null then 'reported' end
from parsed
where tokens_out is not null or cost_usd is not null
"""

# Of two trials of one file with one id of their own: the file, the id, and the row of the second.
TWICE = """
select name, own_id, line_number
from (
    select file, own_id, max(line_number) as line_number from parsed
    where own_id is not null
    group by all
    having count(*) > 1
    union all
    select file, own_id, line_number from parsed semi join own_ids using (file, own_id)
)
inner join files using (file)
order by all
limit 1
"""


def read_trials(archive: Archive, names: list[str]) -> str:
    """Write the SQL that makes trials of the rows that a mapping yields in columns of some names.

    A condition that cannot be read makes a row no trial; an answer that cannot is a trial without a number.
    """
    names = {name.lower() for name in names}
    return READ_TRIALS.format(
        anchoring=quoted(ANCHORING),
        reading=macros()["read_response"]("text_to_read", "unit"),
        by_range=macros()["number_in_cell"](
            "struct_extract(found, 'if_decimal')", "struct_extract(found, 'if_grouped')", "null::double", "least",
            "most",
        ),
        complaints="\n            ".join(_complaints(names)),
        no_technique="null" if "technique" in names else quoted(NO_TECHNIQUE),
        protocol=quoted(archive.name),
        has_number=str("number" in names).lower(),
    )  # fmt: skip


def _complaints(names):
    """Write what is wrong with a row that is no trial."""
    needed = [*NEEDED, *(["technique"] if "technique" in names else [])]
    yield from (f"when {name} is null then {quoted(f'there is no {name}')}" for name in needed)
    yield from (complaint(name, name, kind) for name, kind in KINDS_OF_COLUMNS.items() if name in names)
    for name, condition in (("anchor_direction", "true"), ("arm", f"of_paradigm = {quoted(ANCHORING)}")):
        yield (
            f"when {name} not in {DIRECTIONS} and {condition} "
            f"then {quoted(f'{name} is not none, low or high: ')} || {name}[:100]"
        )
    yield "when isinf(try_cast(number as double)) then 'number is no finite number: ' || number[:100]"
    yield (
        "when option_order is not null and json_type(try_cast(option_order as json)) is distinct from 'ARRAY' "
        "then 'option_order is no list of JSON: ' || option_order[:100]"
    )


def unknown_paradigms(paradigms: dict[str, int]) -> dict[str, int]:
    """Return those of some paradigms, with what stands beside each, that do not come with bais."""
    return {name: n for name, n in paradigms.items() if name not in (ANCHORING, *shipped_paradigms())}


def stated(paradigms: list[str]) -> dict[str, list[dict]]:
    """Return what the shipped ones of some paradigms state, by the table of `raw` that it goes to."""
    known = [load_paradigm(name, None) for name in paradigms if name in shipped_paradigms()]
    return {
        "paradigms": [row for paradigm in known for row in paradigm.rows()],
        "paradigm_contrasts": [row for paradigm in known for row in paradigm.contrast_rows()],
    }


OF_PARADIGMS = pa.schema({name: pa.string() for name in ("paradigm", "answer_kind", "options")})


def options_of_paradigms() -> pa.Table:
    """Return of each shipped paradigm the kind of its answers, and the options where they are a choice."""
    known = [load_paradigm(name, None) for name in shipped_paradigms()]
    rows = [
        {
            "paradigm": paradigm.paradigm, "answer_kind": paradigm.answer.kind,
            "options": json.dumps(paradigm.labels) if paradigm.answer.kind == "choice" else None,
        }
        for paradigm in known
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, OF_PARADIGMS)


def new_mapping(folder: Path, form: str | None, given: Given) -> str:
    """Write a mapping to fill in for a file or folder, and say what is missing in it."""
    folder, path = Path(folder).resolve(), Path("map.sql")
    as_it_is = replace(given, path=None)
    archive = mapped(archive_of(form) if form else recognised(folder, is_mapped=True), folder, as_it_is, None)
    with tempfile.TemporaryDirectory(prefix="bais-map-") as scratch:
        mapping = Mapping(archive, folder, as_it_is, Path(scratch))
        files = {file: path_below(folder, file) for file in walk(folder)[0] if archive.has_ending(file)}
        mapping.take(files, None)
        tables = mapping.looked_at()
    source = next((name for name in tables if name == SOURCE), max(tables, key=lambda name: len(tables[name])))
    found = {}
    for column, *_ in tables[source]:
        if column != "filename" and (name := meant(column, KNOWN.keys() - found)):
            found[name] = _in_sql(column)
    select = mapping.archive.select.strip() if mapping.archive.select != AS_IT_IS else _select(found, source)
    of_tables = [line for name, columns in tables.items() for line in _comments(name, columns)]
    again = f"bais import {printable(mapping.folder)} --map {path}"
    lines = [f"-- Makes trials of {mapping.name}: {again}", *of_tables, select]
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except FileExistsError:
        raise UserError(f"{path} is there already: move it away, or import with it: {again}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
    lacking = missing(found.keys()) if mapping.archive.select == AS_IT_IS else []
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
    return column if re.fullmatch(r"[a-z_][a-z0-9_]*", column) else '"' + column.replace('"', '""') + '"'
