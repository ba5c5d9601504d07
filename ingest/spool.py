"""The spool: an append-only file of JSON lines per study; every paid answer is there before it is used for anything.

Each line is an object whose first keys are `kind` and an id: `session`, `prompt`, `anchor`, `call` (one per request,
also the failed ones) and `trial` (which closes a trial). A line goes to the operating system in one write before the
next turn is sent, so that no end of this process loses it; it goes to the disk within a second.
"""

import contextlib
import itertools
import json
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ingest.lock import alone
from ingest.warehouse import UserError, printable, warehouse_path

SYNC_EVERY_S = 0.5
COLLECTED = "collected.jsonl"
TEMPLATE = b'","prompt_kind":"template"'
TRIAL_LINE, CALL_LINE, PROMPT_LINE = (f'{{"kind":"{kind}",'.encode() for kind in ("trial", "call", "prompt"))
ID = slice(len(TRIAL_LINE) + len('"trial_id":"'), len(TRIAL_LINE) + len('"trial_id":"') + 32)
CALL_ID = slice(ID.start - 1, ID.stop - 1)
PROMPT_ID = slice(len(PROMPT_LINE) + len('"prompt_hash":"'), len(PROMPT_LINE) + len('"prompt_hash":"') + 32)


def spool_folder(study: str) -> Path:
    """Return where the spool of a study lies: in `spool/` beside the warehouse."""
    path = warehouse_path()
    return path.parent / "spool" / path.stem / study


def spool_files(study: str) -> list[Path]:
    """Return the spool files of a study that exist."""
    return sorted(spool_folder(study).glob("*.jsonl"))


@dataclass
class State:
    """What a spool holds when it is opened."""

    closed: set[bytes] = field(default_factory=set)  # the trials that are complete
    open_calls: dict[str, list[dict]] = field(default_factory=dict)  # of each trial that is not
    anchors: list[dict] = field(default_factory=list)  # as they were decided
    prompts: set[bytes] = field(default_factory=set)  # hashes of the texts that are there
    templates: dict[str, tuple[str, dict]] = field(default_factory=dict)  # by hash, each with its study as it was then
    sessions: list[dict] = field(default_factory=list)
    n_calls: int = 0
    n_bytes: int = 0  # of whole lines
    junk: list[int] = field(default_factory=list)  # numbers of lines that are no record
    torn: Path | None = None  # where a torn last line was put aside


def read_state(path: Path) -> State:
    """Scan a spool file; a torn last line is no part of it, and of a file that is not there there is nothing."""
    state, offsets, study = State(), {}, {"vignettes": [], "techniques": []}
    if not path.exists():
        return state
    with open(path, "rb") as file:
        at = 0
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            if not (line.startswith(b'{"kind":"') and line.endswith(b"}\n")):
                state.junk.append(number)
            elif line.startswith(CALL_LINE):
                state.n_calls += 1
                offsets.setdefault(line[CALL_ID], []).append(at)
            elif line.startswith(PROMPT_LINE):
                state.prompts.add(line[PROMPT_ID])
                if line.startswith(TEMPLATE, PROMPT_ID.stop) and (record := _parsed(line)):
                    state.templates[record["prompt_hash"]] = (record.get("text"), study.copy())
            elif (record := _parsed(line)) is None:
                state.junk.append(number)
            elif line.startswith(TRIAL_LINE):
                state.closed.add(line[ID])
                offsets.pop(line[ID], None)
            elif record["kind"] == "anchor":
                versions = (of.get("version", 1) for of in study["vignettes"] if of["vignette"] == record["vignette"])
                state.anchors.append({"vignette_version": next(versions, 1)} | record)
            elif record["kind"] == "session":
                state.sessions.append(record)
                study |= record.get("study", {})
            at += len(line)
        state.n_bytes = at
        for trial_id, starts in offsets.items():
            calls = []
            for start in starts:
                file.seek(start)
                calls.append(_parsed(file.readline()))
            state.open_calls[trial_id.decode("ascii", "replace")] = [call for call in calls if call]
    return state


def _parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


class Spool:
    """One process's hold of a spool file, as a context manager; of secrets none is ever written."""

    def __init__(self, path: Path, secrets: Iterable[str] = ()):
        self.path = path
        self.secrets = [json.dumps(secret)[1:-1] for secret in secrets if secret]
        self.state = None

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.ExitStack() as held:
                held.enter_context(alone(self.path.with_name(f"{self.path.name}.lock"), self._refusal))
                self._file = held.enter_context(open(self.path, "a+b", buffering=0))
                self.state = read_state(self.path)
                self.state.torn = self._set_torn_line_aside(self.state.n_bytes)
                self._held = held.pop_all()
        except OSError as error:
            raise UserError(f"{printable(self.path)} cannot be written: {error.strerror}") from None
        self._size = self._synced = self.state.n_bytes
        self._failure = None
        self._lock = threading.Lock()
        self._leaving = threading.Event()
        self._syncer = threading.Thread(target=self._sync_now_and_then, daemon=True)
        self._syncer.start()
        return self

    def __exit__(self, *error):
        self._leaving.set()
        self._syncer.join()
        with self._held, contextlib.suppress(OSError):
            os.fsync(self._file.fileno())

    def _refusal(self, who):
        return (
            f"another process is collecting into {printable(self.path)}: wait until it has finished, or stop it, "
            "and try again; nothing was asked"
        )

    def write(self, record: dict) -> None:
        """Append a record, its `kind` and id first, as one line, and hand it to the operating system at once."""
        line = json.dumps(record, separators=(",", ":"), allow_nan=False)
        for secret in self.secrets:
            if secret in line:
                line = line.replace(secret, "[key]")
        data = line.encode() + b"\n"
        with self._lock:
            try:
                if self._failure:
                    raise self._failure
                n_written = 0
                while n_written < len(data):
                    n_written += os.write(self._file.fileno(), data[n_written:])
                self._size += len(data)
            except OSError as error:
                self._failure = error  # once a line is missing, none may follow
                with contextlib.suppress(OSError):
                    self._file.truncate(self._size)
                raise UserError(
                    f"{printable(self.path)} cannot be written ({error.strerror}): what was answered before is kept; "
                    "make room and run the same command again"
                ) from None

    def _set_torn_line_aside(self, start: int) -> Path | None:
        """Move what follows the last whole line, left by a machine that stopped, into a file of its own."""
        self._file.seek(start)
        if not (torn := self._file.read()):
            return None
        endings = itertools.chain([""], (f"-{n}" for n in itertools.count(2)))
        names = (f"{self.path.name}.torn-at-{start}{ending}" for ending in endings)
        aside = next(path for path in map(self.path.with_name, names) if not path.exists())
        aside.write_bytes(torn)
        self._file.truncate(start)
        return aside

    def _sync_now_and_then(self):
        while not self._leaving.wait(SYNC_EVERY_S):
            size = self._size
            if size != self._synced:
                try:
                    os.fsync(self._file.fileno())
                except OSError as error:
                    self._failure = error
                self._synced = size
