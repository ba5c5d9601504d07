"""Archives that others have published: where each lies, at which commit, under which licence."""

import csv
from dataclasses import dataclass
from pathlib import Path

ARCHIVES = Path(__file__).parents[1] / "archives"
OF_DOCUMENT_A = "voder_bais"


@dataclass(frozen=True)
class Published:
    """An archive that others have published; it is called as the format that reads it."""

    name: str
    repository: str
    commit: str
    folder: str  # of its files in the repository
    licence: str  # empty where none is stated

    @property
    def form(self) -> str:
        """What `--format` calls the format of its files, and what the folder is called that it is fetched into."""
        return self.name.replace("_", "-")

    @property
    def version(self) -> str:
        """What a version of it is called."""
        return self.commit[:7]

    @property
    def address(self) -> str:
        """Where its files lie at the pinned commit."""
        raw = self.repository.replace("https://github.com/", "https://raw.githubusercontent.com/")
        return f"{raw}/{self.commit}/{self.folder}"

    @property
    def manifest(self) -> Path:
        """The digests of its files."""
        return ARCHIVES / f"{self.name}.sha256"

    def terms(self) -> str:
        """Say where it is from, and what its licence allows."""
        licence = f"licence: {self.licence}" if self.licence else "no licence is stated: pass it on to nobody"
        return f"{self.name}: {self.repository}, commit {self.version}; {licence}"


def published() -> dict[str, Published]:
    """Return the archives that can be fetched, by name."""
    with (ARCHIVES / "published.csv").open(encoding="utf-8", newline="") as lines:
        return {row["name"]: Published(**row) for row in csv.DictReader(lines)}
