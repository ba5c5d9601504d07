"""dbt as commands run it: on this project, and on the warehouse that they are asked about."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from analysis.claims import OWN
from bais import project
from bais.terminal import complain, progress, say
from ingest.land.vendors import refuse_mistakes
from ingest.warehouse import FULL, UserError, free_bytes, home, printable, warehouse_path, why_not_written

# dbt ends with the command that started it, however that ends: its stdin, to which nothing is written, is closed then.
RUN = """
import os, threading
threading.Thread(target=lambda: os.read(0, 1) or os._exit(1), daemon=True).start()
from dbt.cli.main import cli
cli(prog_name='dbt')
"""
# what a library says at the end of a process, of objects that the process frees by ending
LEAKS = re.compile(r"nanobind: | - leaked | - \.\.\. skipped remainder|See https://nanobind")
# Where dbt keeps notes of its own, and how many: what it builds, and where, hangs on none of these.
NOT_BUILT, LEFT = ("operation", "exposure"), ("skipped", "warn")
LOCK = "build.lock"
NOTES = ("DBT_TARGET_PATH", "DBT_LOG_PATH", "DBT_LOG_LEVEL_FILE", "DBT_WRITE_JSON")


def environment(more: dict | None = None) -> dict[str, str]:
    """Return the environment of dbt: of the options that it would take from ours, those alone that name its notes."""
    ours = {name: value for name, value in os.environ.items() if name in NOTES or not name.startswith("DBT_")}
    own = {"DBT_PROFILES_DIR": str(project.folder() / "profiles"), "BAIS_WAREHOUSE": str(warehouse_path())}
    own |= {"BAIS_DEV_WAREHOUSE": str(home() / os.environ.get("BAIS_DEV_WAREHOUSE", "data/bais_dev.duckdb"))}
    own |= {OWN: os.pathsep.join(map(str, papers))} if (papers := project.papers()) else {}
    return ours | own | (more or {})


def notes_folder() -> Path:
    """Return where dbt keeps what it noted of its last run."""
    return project.folder() / (os.environ.get("DBT_TARGET_PATH") or "target")


def start(*arguments: str, more_environment: dict | None = None, says: str = "--quiet", **how) -> subprocess.Popen:
    """Start dbt, which says no more than what is wrong."""
    command = [sys.executable, "-c", RUN, *says.split(), *arguments]
    theirs, ours = os.pipe()
    with open(theirs, "rb") as stdin:
        dbt = subprocess.Popen(command, stdin=stdin, cwd=project.update(), env=environment(more_environment), **how)
    weakref.finalize(dbt, os.close, ours)  # where nobody has the process any more; this one's end closes it too
    return dbt


def build(*arguments: str, more_environment: dict | None = None, label: str = "") -> int:
    """Run `dbt build`, say what was built, and return the exit code; show a person at a terminal which node it is at.

    What dbt says of a full disk, in traces too, is one sentence instead.
    """
    refuse_mistakes()
    with _alone():
        return _build(arguments, more_environment, label)


def _build(arguments, more_environment, label):
    results = Results()
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
    return results.ended(code, label)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Wait for a build of another warehouse that works in the same folder of notes."""
    from filelock import FileLock, Timeout

    folder = notes_folder()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        complain(f"another build works in {printable(folder)}: this one waits until it is through")
        lock.acquire()
    with lock:
        yield


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
        return [] if LEAKS.match(line) else [line.rstrip("\n")]
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

    def ended(self, code: int, label: str = "") -> int:
        """Say what was built, if anything was, and return the exit code of dbt as a shell has it."""
        if summary := self.said():
            say(f"{label}{summary}")
        return code if code >= 0 else 128 - code

    def said(self) -> str | None:
        """Say how much was built, how many tests passed and how long it took; None where dbt left no results."""
        if self._changed_at() == self._before:
            return None
        results = [
            (result["unique_id"].split("."), result["status"], result)
            for result in json.loads(self._path.read_text(encoding="utf-8"))["results"]
        ]
        # not what runs before the first table, and what reads the tables
        kinds = [(name[0].endswith("test"), status) for name, status, _ in results if name[0] not in NOT_BUILT]
        parts = []
        for is_test, good, what in ((False, "success", "tables built"), (True, "pass", "tests passed")):
            n_good, n_left = kinds.count((is_test, good)), sum(kinds.count((is_test, left)) for left in LEFT)
            n_all = sum(kind == is_test for kind, _ in kinds) - n_left
            if n_all or not is_test:
                parts.append(f"{n_good:,} {what}" if n_good == n_all else f"{n_good:,} of {n_all:,} {what}")
        if n_skipped := sum(status == "skipped" for _, status in kinds):
            parts.append(f"{n_skipped:,} left out after a failure")
        summary = ", ".join([*parts, f"{time.monotonic() - self._began:.0f} s"])
        # without what dbt appends to tell a test from another: a hash, and underscores for punctuation
        warned = [(name[2].rstrip("_"), result["failures"]) for name, status, result in results if status == "warn"]
        return "; ".join([summary, *(f"a test warns: {name}, {n:,} rows" for name, n in warned)])
