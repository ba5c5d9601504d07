"""dbt as commands run it: on this project, and on the warehouse that they are asked about."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ingest.warehouse import ROOT, warehouse_path

RUN = "from dbt.cli.main import cli; cli(prog_name='dbt')"
RUN_WATCHED = "import sys; from bais.dbt import run_watched; sys.exit(run_watched(sys.argv[1:]))"


def start(*arguments: str, more_environment: dict | None = None, is_watched: bool = False, **how) -> subprocess.Popen:
    """Start dbt; where somebody watches, it says on stderr how far it is."""
    environment = {"DBT_PROFILES_DIR": str(ROOT / "profiles"), **os.environ, "BAIS_WAREHOUSE": str(warehouse_path())}
    command = [sys.executable, "-c", RUN_WATCHED if is_watched else RUN, "--quiet", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment | (more_environment or {}), **how)


def run_watched(arguments: list[str]) -> int:
    """Run dbt in this process with a line of progress, and return its exit code."""
    from dbt.cli.main import dbtRunner

    from bais.terminal import progress

    with progress("tables and tests") as show:
        done = dbtRunner(callbacks=[seen_by(show)]).invoke(arguments)
    if done.exception:
        print(done.exception, file=sys.stderr)
        return 2
    return 0 if done.success else 1


def seen_by(show: Callable[[int, int], None]) -> Callable:
    """Return what dbt calls with each event: it shows how many nodes of how many have begun."""

    def seen(event):
        if event.info.name == "LogStartLine":
            show(event.data.index - 1, event.data.total)

    return seen


class Results:
    """What dbt keeps of its last run; known before a run, so that what an earlier one left is not taken for its own."""

    def __init__(self):
        self._path = Path(os.environ.get("DBT_TARGET_PATH") or ROOT / "target") / "run_results.json"
        self._before = self._changed_at()
        self._began = time.monotonic()

    def _changed_at(self):
        return self._path.stat().st_mtime_ns if self._path.is_file() else None

    def said(self) -> str | None:
        """Say how much was built, how many tests passed and how long it took; None where dbt left no results."""
        if self._changed_at() == self._before:
            return None
        kept = json.loads(self._path.read_text(encoding="utf-8"))
        kinds = Counter()
        for of in kept["results"]:
            kind = of["unique_id"].partition(".")[0]
            if kind not in ("operation", "exposure"):  # what runs before the first table, and what reads the tables
                kinds["tests passed" if kind.endswith("test") else "tables built", of["status"]] += 1
        parts = []
        for what, good in (("tables built", "success"), ("tests passed", "pass")):
            n_all = sum(n for (of, status), n in kinds.items() if of == what and status != "skipped")
            n_good = kinds[what, good]
            parts.append(f"{n_good:,} {what}" if n_good == n_all else f"{n_good:,} of {n_all:,} {what}")
        n_skipped = sum(n for (_, status), n in kinds.items() if status == "skipped")
        if n_skipped:
            parts.append(f"{n_skipped:,} left out after a failure")
        return ", ".join([*parts, f"{time.monotonic() - self._began:.0f} s"])
