"""One module per format of recorded trials; its `ARCHIVE` says what its files look like and how they are read."""

import json
import pkgutil
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.warehouse import UserError, printable, quoted

if TYPE_CHECKING:
    from ingest.land.versions import Version
    from ingest.texts.lines import Block

LLM_FIELDS = ("model", "llm", "provider", "engine")
ANSWER_FIELDS = (
    "answer", "choice", "completion", "decision", "estimate", "final", "message", "messages", "output", "raw", "reply",
    "response", "result", "sentence",
)  # fmt: skip
# the tables of `raw` that hold what a version of a source brought beside its records
OF_VERSIONS = (
    "quarantined_lines", "batches", "source_versions", "version_files", "unread_lines", "version_entries",
)  # fmt: skip
OF_TABLES = ("trials", "prompts", "calls", "paradigms", "paradigm_contrasts", *OF_VERSIONS)
# what a field holds: how its text is tested
KINDS = {
    "number": "isfinite(try_cast({said} as double))",
    "whole number": "try_cast({said} as double) = try_cast({said} as bigint)",
    "time": "isfinite(try_cast({said} as timestamptz))",
}


def complaint(name: str, text: str, kind: str) -> str:
    """Write the arm of a CASE that says of a field whose text is `text` that it is no number, whole number or time."""
    is_one = KINDS[kind].format(said=text)
    return f"when {text} is not null and ({is_one}) is not true then {quoted(f'{name} is no {kind}: ')} || {text}[:100]"


def infinite(name: str, text: str, json_type: str) -> str:
    """Write the arm of a CASE that says of an answer, text or number, that it is a number without end, or none."""
    return (
        f"when isfinite(try_cast({text} as double)) is false and {json_type} != 'VARCHAR' "
        f"then {quoted(f'{name} is no finite number: ')} || {text}[:100]"
    )


def reading_of_experiments(
    fields: Mapping, *, shape: str, is_like_one: str, kinds: Mapping[str, Collection], answers: Collection, columns: str
) -> str:
    """Write `read_trials` for lines of experiments, from their `fields`, a structure of JSON that SQL knows as `f`.

    `shape` are the arms of a CASE that names the kind of a line; one that has none, but of which `is_like_one` is true,
    is quarantined. So is one whose fields are not of the `kinds` that they should be, or whose `answers` are without
    end. `columns` are those of `raw.trials` beside `llm_recorded`.
    """
    complaints = [complaint(name, f"f.{name}", kind) for kind, names in kinds.items() for name in names]
    complaints += [infinite(name, f"f.{name}", f"json_type(line, '$.{name}')") for name in answers]
    return f"""
with fields as (
    select *, json_transform(line, {quoted(json.dumps(fields))}) as f from lines
),

kinds as (
    select
        *,
        case {shape} end as shape,
        case when shape is null then
            coalesce('experiment ' || f.experimentId[:60] || ' with the fields ', 'JSON objects with the fields ')
            || json_keys(line)::varchar
        end as looks_like,
        case
            when shape is null then if({is_like_one}, looks_like, null)
            {" ".join(complaints)}
        end as complaint
    from fields
)

select
    file,
    line_number,
    line,
    case when complaint is null then shape end as kind,
    looks_like,
    complaint,
    f.model as llm_recorded,
    {columns}
from kinds
"""


@dataclass(frozen=True)
class Archive:
    """A format of recorded trials; docs/how-to/add-an-archive.md makes one."""

    # the module's name; lands in `raw.trials.archive`
    name: str
    # one clause that tells a user what the files hold
    expected: str
    # the file name endings of its files; others are skipped with the reason
    suffix: str | tuple[str, ...]
    # the study that its trials belong to
    study: str | None = None
    # whether a line's `kind` is the study that it belongs to: then an import is of the trials of one of them, which
    # `read_trials` finds in the variable `study`
    is_study_the_kind: bool = False
    # whether `--study` names the study, since its files do not
    names_study: bool = False
    # from such a study to its `vignettes`
    vignettes_of: Callable[[str], Mapping] = lambda study: {}
    # SQL over `lines (file, line_number, line)`, every line a JSON object: one row per line with `file` (a number),
    # `line_number`, `line`, `kind` (null where the fields are not those of a trial, or cannot be read), `looks_like`
    # (what to call such a line), `complaint` (what is wrong with a line that is a trial but for that: it is quarantined
    # whatever else its file holds; may be left out) and the typed columns of `raw.trials` that the format knows
    read_trials: str | None = None
    # lines that are known to be no trials of it, told by fields that all of a kind have: they are counted and skipped
    foreign: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    # another line that has one of each looks like a trial: it is quarantined whatever else its file holds
    llm_fields: tuple[str, ...] = LLM_FIELDS
    answer_fields: tuple[str, ...] = ANSWER_FIELDS
    # the objects in a line that are read, as paths of JSON: a line that has a key twice in one of them is quarantined
    objects: tuple[str, ...] = ("$",)
    # a condition of SQL that a `line`, or a document that is JSON, of this format meets; if none, that it has a kind
    mark: str | None = None
    # what a file that is not JSON begins with
    magic: bytes | None = None
    # the tables of `raw` that it fills, in this order
    tables: tuple[str, ...] = ("trials", *OF_VERSIONS)
    # a SQL expression over a `line`: the id that the source itself gives it, the same in every file; if none, its time
    own_id: str | None = None
    # a SQL expression over a `line`: what its source is called, where the source says it
    own_name: str | None = None
    # where its files are tables: the SELECT that makes trials of their rows, in the place of `read_trials`
    # (ingest/bring/mapping.py); `--map` names another
    select: str | None = None
    # from a file's absolute path to its path within the archive, wherever the archive's folder lies
    path_in_archive: Callable[[Path], str] = lambda path: path.name
    # yields the lines of a file, as `ingest.texts.lines.read_blocks` does; an OSError says why it cannot be read
    read: "Callable[[Path, int, int], Iterator[Block]] | None" = None
    # of a file that was read: why it is not all that it was to become, where it says so itself
    unfinished: Callable[[Path], str | None] = lambda path: None
    # whether it is a folder as a whole, known by a file directly in it, which says itself what its rows belong to
    is_folder: bool = False
    # whether a folder is one of its own, whatever the files in it look like
    has_folder: Callable[[Path], bool] = lambda folder: False
    # what its files are called, where names alone tell them
    file_name: re.Pattern | None = None
    # columns that the header of a file of such rows, or each of its objects, names
    header: tuple[str, ...] = ()
    # imports a file or folder that holds no trials, given what a person says of the version and the format; says what
    # came of it, and the exit code
    take: "Callable[[Path, Version, Archive], tuple[str, int]] | None" = None
    # from vignette to what a mapping declares of it, such as its `domain`, where no seed does
    vignettes: Mapping = field(default_factory=dict, hash=False)

    @property
    def form(self) -> str:
        """What `--format` calls it."""
        return self.name.replace("_", "-")

    def has_ending(self, file: Path) -> bool:
        """Whether a file is called as its files are."""
        return file.name.lower().endswith(self.suffix) and not (
            self.file_name and not self.file_name.fullmatch(file.name)
        )

    def unusable(self, folder: Path, of_files: str, refusals: list[tuple[str, str]]) -> UserError:
        """Say that there is nothing of it in a folder, and why one of the files holds none, by their names."""
        such_as = f"; {refusals[0][0]}: {refusals[0][1]}" if refusals else ""
        return UserError(
            f"nothing usable in {printable(folder)}: {of_files} of the format {self.form} ({self.expected}){such_as}"
        )

    @property
    def kinds(self) -> str:
        """The endings of its files, in words."""
        return self.suffix if isinstance(self.suffix, str) else " or ".join(self.suffix)


def formats() -> list[str]:
    """Return what `--format` takes, without loading a format."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def archive_of(form: str) -> Archive:
    """Return a format by what `--format` calls it."""
    return import_module(f"ingest.archives.{form.replace('-', '_')}").ARCHIVE


def is_of_rows(name: str | None) -> bool:
    """Whether a format, as `raw` calls it, is of tables: what comes of these is counted by rows, and not by lines."""
    return name is not None and name.replace("_", "-") in formats() and archive_of(name).select is not None


def archives() -> list[Archive]:
    """Return all formats."""
    return [archive_of(form) for form in formats()]
