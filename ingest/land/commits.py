"""What git says of a folder: the commit that it is at, and the files that this commit has there."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 20
LABEL = re.compile(r"([0-9a-f]{7,40})(-dirty)?")


def git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints in a folder, whichever repository the environment names; None where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(folder), *arguments],
            env=environment, capture_output=True, encoding="utf-8", errors="surrogateescape", timeout=PATIENCE_S,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


@dataclass(frozen=True)
class Commit:
    """The commit that a folder is at; `files` are those that it has there, by their paths within the folder."""

    folder: Path
    name: str
    is_clean: bool
    files: frozenset[str]

    @property
    def label(self) -> str:
        """What a version is called by it, with `-dirty` where files differ from it."""
        return f"{self.name}{'' if self.is_clean else '-dirty'}"

    def follows(self, label: str | None) -> bool:
        """Whether it is or comes after the commit that a version is called by, as far as git knows that one."""
        named = LABEL.fullmatch(label or "")
        if not named or git(self.folder, "cat-file", "-e", f"{named[1]}^{{commit}}") is None:
            return True
        return git(self.folder, "merge-base", "--is-ancestor", named[1], "HEAD") is not None


def commit_of(path: Path) -> Commit | None:
    """Return the commit that a folder, or the folder of a file, is at, if git keeps files of it."""
    folder, named = (path, ".") if path.is_dir() else (path.parent, path.name)
    files = git(folder, "ls-files", "-z", "--", named)
    name = git(folder, "rev-parse", "--short=7", "HEAD") if files else None
    if not name:
        return None
    is_clean = git(folder, "status", "--porcelain", "--", named) == ""
    return Commit(folder, name.strip(), is_clean, frozenset(files.rstrip("\0").split("\0")))
