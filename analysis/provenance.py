"""What a number was computed with: the source of the project and the versions of the libraries."""

import hashlib
import sys
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

DRAWERS = ("engine", "methods", "papers")  # of statistics


@cache
def library_versions():
    """Return the versions of Python and of every library that is installed, as one text.

    Returns
    -------
    str
        `name==version` on a line each, in the order of the names.
    """
    installed = {f"{distribution.metadata['Name']}=={distribution.version}" for distribution in distributions()}
    return "\n".join([f"Python=={sys.version}", *sorted(installed)])


def hash_of_files(*paths):
    """Return a hash of some files, and of all that lie below some folders, with their names.

    Parameters
    ----------
    *paths : pathlib.Path
        What is not there counts as nothing; what Python compiles is left out.

    Returns
    -------
    str
    """
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(entry for entry in ([path] if path.is_file() else path.rglob("*")) if entry.is_file()):
            if "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(path.parent)).encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@cache
def statistics_source():
    """Return a hash of the statistics: of every module that a table of statistics is made by.

    Returns
    -------
    str
    """
    return hash_of_files(
        *sorted(Path(__file__).parent.glob("*.py")), *(Path(__file__).parent / drawer for drawer in DRAWERS)
    )
