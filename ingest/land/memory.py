"""How much memory DuckDB may take: what `BAIS_MEMORY` says, else what suits this machine."""

import os
import re
from pathlib import Path, PurePosixPath

from ingest.warehouse import UserError, printable

VARIABLE = "BAIS_MEMORY"
MOST = 2_200_000_000  # bytes; with more DuckDB writes less to the disk, and is hardly faster
SIZE = re.compile(r"(?=.*[1-9])\d+(?:\.\d+)?\s*[MGT]i?B", flags=re.IGNORECASE)
FREE = re.compile(r"^MemAvailable:\s*(\d+) kB$", flags=re.MULTILINE)


def memory_limit(most: int = MOST, root: Path = Path("/")) -> str:
    """Return the limit in DuckDB's words, unasked at most so many bytes; `root` is the machine's files."""
    amount = os.environ.get(VARIABLE, "").strip()
    if not amount:
        return f"{min([most, *(n // 2 for n in _limits(root))])}B"
    if not SIZE.fullmatch(amount):
        raise UserError(
            f"{VARIABLE} is {printable(amount)!r}, which is no amount of memory: "
            "say how much bais may take in a form like 2GB or 800MB"
        )
    return amount


def needs_more(what: str, limit: str) -> UserError:
    """Say that something does not fit into the memory that it may take, and how to give it more."""
    return UserError(
        f"{what} needs more memory than the {limit} that it may take here: "
        f"give it more with {VARIABLE}, like {VARIABLE}=8GB"
    )


def _limits(root):
    """Yield how many bytes are free on this machine, and how many its control groups allow."""
    if free := FREE.search(_read_text(root / "proc/meminfo")):
        yield int(free[1]) * 1024
    for line in _read_text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        group = PurePosixPath(path.lstrip("/"))
        for folder in (group, *group.parents):
            if (most := _read_text(top / folder / name).strip()).isdigit():
                yield int(most)


def _read_text(path):
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
