"""dbt as commands run it: on this project, and on the warehouse that they are asked about."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bais.terminal import progress
from ingest.warehouse import FULL, ROOT, UserError, free_bytes, warehouse_path, why_not_written

RUN = "from dbt.cli.main import cli; cli(prog_name='dbt')"
# Where dbt keeps notes of its own, and how many: what it builds, and where, hangs on none of these.
NOTES = ("DBT_TARGET_PATH", "DBT_LOG_PATH", "DBT_LOG_LEVEL_FILE", "DBT_WRITE_JSON")


def environment(more: dict | None = None) -> dict[str, str]:
    """Return the environment of dbt: of the options that it would take from ours, those alone that name its notes."""
    ours = {name: value for name, value in os.environ.items() if name in NOTES or not name.startswith("DBT_")}
    own = {"DBT_PROFILES_DIR": str(ROOT / "profiles"), "BAIS_WAREHOUSE": str(warehouse_path())}
    return ours | own | (more or {})


def notes_folder() -> Path:
    """Return where dbt keeps what it noted of its last run."""
    return ROOT / (os.environ.get("DBT_TARGET_PATH") or "target")


def start(*arguments: str, more_environment: dict | None = None, says: str = "--quiet", **how) -> subprocess.Popen:
    """Start dbt, which says no more than what is wrong."""
    command = [sys.executable, "-c", RUN, *says.split(), *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment(more_environment), **how)


def build(*arguments: str, more_environment: dict | None = None) -> int:
    """Run `dbt build` and return its exit code; show a person at a terminal which node it is at.

    What dbt says of a full disk, in traces too, is one sentence instead.
    """
    is_watched = sys.stderr.isatty()
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    how |= {"says": "--log-format json --log-level info"} if is_watched else {}
    dbt, wrong = start("build", *arguments, more_environment=more_environment, **how), []
    with progress("reading the project") if is_watched else contextlib.nullcontext() as on_progress:
        try:
            for line in dbt.stdout:
                wrong += _followed(line, on_progress)
        finally:
            code = ended(dbt)
    if full := next(filter(FULL.search, wrong), None):
        at = Path(environment(more_environment)["BAIS_WAREHOUSE"]), notes_folder() / "dbt.log"
        why = why_not_written(full, min(at, key=free_bytes))
        raise UserError(f"what dbt builds has no room ({why}): make room, and try again")
    for message in wrong:
        print(message)
    return code


def ended(dbt: subprocess.Popen) -> int:
    """Wait until dbt has ended, also where it is interrupted, and return its exit code."""
    try:
        return dbt.wait()
    except KeyboardInterrupt:
        dbt.wait()  # dbt got the interrupt too, and cancels what it runs
        raise


def _followed(line: str, on_progress: Callable[..., None]) -> list[str]:
    """Show which node an event of dbt is of; return what it says is wrong, and what is no event as it is."""
    try:
        event = json.loads(line)
        info, data = event["info"], event["data"]
    except (ValueError, KeyError, TypeError):
        return [line.rstrip("\n")]
    if data.get("total"):
        on_progress(data["index"] - 1, data["total"], data.get("node_info", {}).get("node_name") or "")
    return [info["msg"]] if info["level"] == "error" else []


class Results:
    """What dbt keeps of its last run; known before a run, so that what an earlier one left is not taken for its own."""

    def __init__(self, folder: Path | None = None):
        self._path = (folder or notes_folder()) / "run_results.json"
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
        for result in kept["results"]:
            kind = result["unique_id"].partition(".")[0]
            if kind not in ("operation", "exposure"):  # what runs before the first table, and what reads the tables
                kinds["tests passed" if kind.endswith("test") else "tables built", result["status"]] += 1
        parts = []
        for what, good in (("tables built", "success"), ("tests passed", "pass")):
            n_all = sum(
                n for (label, status), n in kinds.items() if label == what and status not in ("skipped", "warn")
            )
            n_good = kinds[what, good]
            if n_all or what == "tables built":
                parts.append(f"{n_good:,} {what}" if n_good == n_all else f"{n_good:,} of {n_all:,} {what}")
        n_skipped = sum(n for (_, status), n in kinds.items() if status == "skipped")
        if n_skipped:
            parts.append(f"{n_skipped:,} left out after a failure")
        summary = ", ".join([*parts, f"{time.monotonic() - self._began:.0f} s"])
        warned = [test for test in kept["results"] if test["status"] == "warn"]
        return "; ".join(
            [summary, *(f"a test warns: {_name_of_test(test)}, {test['failures']:,} rows" for test in warned)]
        )


def _name_of_test(result):
    """Return the name without what dbt appends to tell it from another: a hash, and underscores for punctuation."""
    return result["unique_id"].split(".")[2].rstrip("_")
