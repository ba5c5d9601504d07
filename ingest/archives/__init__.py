"""One module per format of recorded trials; each says how a line of its files becomes a row of `raw.trials`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Archive:
    """A format of recorded trials.

    Attributes
    ----------
    name : str
        The module's name; lands in `raw.trials.archive`.
    study : str
        The study that its trials belong to.
    suffix : str
        The file name ending of its files; others are skipped with the reason.
    read_trials : str
        SQL over the relation `lines (file, line_number, line)`, every line a JSON object: one row per line with `file`
        (a number), `line_number`, `line`, `kind` (null where the fields are not those of a trial), `looks_like` (what
        to call such a line) and the typed columns of `raw.trials` that the format knows.
    path_in_archive : callable
        From a file's absolute path to its path within the archive, wherever the archive's folder lies.
    expected : str
        One clause that tells a user what the files should hold.
    """

    name: str
    study: str
    suffix: str
    read_trials: str
    path_in_archive: Callable[[Path], str]
    expected: str
