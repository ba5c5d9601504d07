"""One module per format of recorded trials; each says how a line of its files becomes a row of `raw.trials`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from ingest.lines import Block
from ingest.warehouse import UserError

MAPPED = ("promptfoo", "inspect-logs")


@dataclass(frozen=True)
class Archive:
    """A format of recorded trials.

    Attributes
    ----------
    name : str
        The module's name; lands in `raw.trials.archive`.
    study : str
        The study that its trials belong to.
    suffix : str or tuple of str
        The file name endings of its files; others are skipped with the reason.
    read_trials : str
        SQL over the relation `lines (file, line_number, line)`, every line a JSON object: one row per line with `file`
        (a number), `line_number`, `line`, `kind` (null where the fields are not those of a trial), `looks_like` (what
        to call such a line) and the typed columns of `raw.trials` that the format knows.
    path_in_archive : callable
        From a file's absolute path to its path within the archive, wherever the archive's folder lies.
    expected : str
        One clause that tells a user what the files should hold.
    read : callable or None
        Yields the lines of a file, as `ingest.lines.read_blocks` does (which None stands for); an OSError says why it
        cannot be read.
    vignettes : mapping
        From vignette to its `domain`, `response_unit`, `valid_min` and `valid_max`, where no seed declares them.
    """

    name: str
    study: str
    suffix: str | tuple[str, ...]
    read_trials: str
    path_in_archive: Callable[[Path], str]
    expected: str
    read: Callable[[Path, int, int], Iterator[Block]] | None = None
    vignettes: Mapping = field(default_factory=dict)


def archive_of(form, mapping=None, study=None):
    """Return a format of recorded trials.

    Parameters
    ----------
    form : str
        As `--format` takes it.
    mapping : Path, optional
        The YAML file that says which field is what, for the formats in `MAPPED`.
    study : str, optional
        The study that their trials shall belong to, if not the one that the mapping names.

    Returns
    -------
    Archive

    Raises
    ------
    UserError
        If mapping and format do not fit, or the mapping is not one.
    """
    module = import_module(f"ingest.archives.{form.replace('-', '_')}")
    if form not in MAPPED:
        if mapping or study:
            raise UserError(f"--map and --study are for the formats {' and '.join(MAPPED)}: {form} needs neither")
        return module.ARCHIVE
    if not mapping:
        raise UserError(
            f"say with --map FILE which field is what: ingest/archives/{module.ARCHIVE_NAME}.yaml is an example"
        )
    return module.archive(mapping, study)
