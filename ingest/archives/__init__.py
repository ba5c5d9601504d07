"""One module per format of recorded trials; its `ARCHIVE` says what its files look like and how they are read."""

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.lines import Block


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
    # SQL over `lines (file, line_number, line)`, every line a JSON object: one row per line with `file` (a number),
    # `line_number`, `line`, `kind` (null where the fields are not those of a trial), `looks_like` (what to call such a
    # line) and the typed columns of `raw.trials` that the format knows
    read_trials: str | None = None
    # a condition of SQL that a `line`, or a document that is JSON, of this format meets; if none, that it has a kind
    mark: str | None = None
    # what a file that is not JSON begins with
    magic: bytes | None = None
    # the tables of `raw` that it fills, in this order
    tables: tuple[str, ...] = (
        "trials", "quarantined_lines", "batches", "source_versions", "version_files", "version_entries",
    )  # fmt: skip
    # a SQL expression over a `line`: the id that the source itself gives it, the same in every file; if none, its time
    own_id: str | None = None
    # a SQL expression over a `line`: what its source is called, where the source says it
    own_name: str | None = None
    # an example of the YAML file that `--map` takes, which says which field is what; if none, the format needs none
    mapping: Path | None = None
    # from a file's absolute path to its path within the archive, wherever the archive's folder lies
    path_in_archive: Callable[[Path], str] = lambda path: path.name
    # yields the lines of a file, as `ingest.lines.read_blocks` does; an OSError says why it cannot be read
    read: "Callable[[Path, int, int], Iterator[Block]] | None" = None
    # lands a folder whose rows are those of `raw` already, known by a file directly in it, and says what came of it
    land: Callable[[Path], str] | None = None
    # from vignette to its `domain`, `response_unit`, `valid_min` and `valid_max`, where no seed declares them
    vignettes: Mapping = field(default_factory=dict, hash=False)

    @property
    def form(self) -> str:
        """What `--format` calls it."""
        return self.name.replace("_", "-")

    def has_ending(self, file: Path) -> bool:
        """Whether a file is called as its files are."""
        return file.name.endswith(self.suffix)

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


def archives() -> list[Archive]:
    """Return all formats."""
    return [archive_of(form) for form in formats()]
