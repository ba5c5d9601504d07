"""The spool: an append-only file of JSON lines per study; every paid answer is there before it is used for anything.

Each line is an object with a `kind` and mostly an id: `session`, `prompt`, `anchor`, `item`, `judged` (a text that
judges are shown), `call` (one per request, also the failed ones) and `trial` (which closes a trial). A line goes to the
operating system in one write before the next turn is sent, so that no later end of this process loses it; it goes to
the disk within a second. An end in the midst of that write leaves a torn last line, which is set aside when the spool
is opened again. A line that another program wrote again, with its keys in another order, with spaces or with other
escapes, is the same line.
"""

import contextlib
import itertools
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ingest.land.lock import alone
from ingest.paradigms.items import Stated, digest_of
from ingest.paradigms.judges import Judged
from ingest.warehouse import UserError, printable, warehouse_path, why_not_written

SYNC_EVERY_S = 0.5
COLLECTED = "collected.jsonl"
TEMPLATE = b'"prompt_kind":"template"'
AS_WRITTEN = re.compile(rb'\{"kind":"(?:(call)","trial_id|(prompt)","prompt_hash)":"([^"\\]*)",.*\}\n', re.DOTALL)


def spool_folder(study: str) -> Path:
    """Return where the spool of a study lies: in `spool/` beside the warehouse."""
    path = warehouse_path()
    return path.parent / "spool" / path.stem / study


def pilot_folder(study: str) -> Path:
    """Return where what is asked on trial lies: in `pilots/` beside the warehouse, where no load finds it."""
    path = warehouse_path()
    return path.parent / "pilots" / path.stem / study


def spool_files(study: str) -> list[Path]:
    """Return the spool files of a study that exist."""
    return sorted(spool_folder(study).glob("*.jsonl"))


@dataclass
class Ending:
    """How the last trials of an LLM ended."""

    session: str | None = None  # the last one in which any did
    is_heard: bool = False  # whether any of that session did not fail
    n_failed: int = 0  # in a row, up to now
    trial_id: str | None = None  # the last that failed


@dataclass
class State:
    """What a spool holds when it is opened."""

    closed: set[bytes] = field(default_factory=set)  # the trials that are complete
    open_calls: dict[str, list[dict]] = field(default_factory=dict)  # of each trial that is not
    anchors: list[dict] = field(default_factory=list)  # as they were decided
    prompts: set[bytes] = field(default_factory=set)  # hashes of the texts that are there
    templates: dict[str, tuple[str, dict]] = field(default_factory=dict)  # by hash, each with its study as it was then
    sessions: list[dict] = field(default_factory=list)
    items: dict[str, list[Stated]] = field(default_factory=dict)  # what was written down of each that was asked
    names: dict[str, str] = field(default_factory=dict)  # the paradigm under which each vignette was asked first
    judged: dict[str, Judged] = field(default_factory=dict)  # the texts that were decided on, by trial or item
    n_calls: int = 0
    n_bytes: int = 0  # of whole lines
    endings: dict[str, Ending] = field(default_factory=dict)  # of each LLM's trials
    junk: list[int] = field(default_factory=list)  # numbers of lines that are no record
    torn: Path | None = None  # where a torn last line was put aside

    def note_judged(self, record: dict, place: int) -> None:
        """Take account of a text that is judged, whose line begins at a place."""
        judged = Judged(record["item"], record["is_answer"], record["text_hash"], place)
        self.judged.setdefault(record["judged"], judged)

    def note_item(self, record: dict, place: int) -> None:
        """Take account of what is written down of an item, whose line begins at a place."""
        self.items.setdefault(record.get("item"), []).append(Stated(digest_of(record), place))

    def note_ending(self, trial: dict) -> None:
        """Take account of how a trial ended, and of what its vignette was asked under."""
        if trial.get("paradigm"):
            self.names.setdefault(trial.get("vignette"), trial["paradigm"])
        ending = self.endings.setdefault(trial.get("llm"), Ending())
        if trial.get("session") != ending.session:
            ending.session, ending.is_heard = trial.get("session"), False
        if trial.get("status") == "failed":
            ending.n_failed, ending.trial_id = ending.n_failed + 1, trial["trial_id"]
        else:
            ending.n_failed, ending.is_heard = 0, True


def read_state(path: Path) -> State:
    """Scan a spool file; a torn last line is no part of it, and of a file that is not there there is nothing."""
    state, offsets, study = State(), {}, {"vignettes": [], "techniques": []}
    if not path.exists():
        return state
    with open(path, "rb") as file:
        at = 0
        for number, line in enumerate(file, 1):
            kind, name, record = _read(line)
            if kind is None and not line.endswith(b"\n"):
                break
            if kind is None:
                state.junk.append(number)
            elif kind == "call":
                state.n_calls += 1
                offsets.setdefault(name, []).append(at)
            elif kind == "prompt":
                state.prompts.add(name.encode())
                template = record or (_record(line) if TEMPLATE in line else {})
                if template.get("prompt_kind") == "template":
                    state.templates[name] = (template.get("text"), study.copy())
            elif kind == "trial":
                state.closed.add(name.encode())
                offsets.pop(name, None)
                state.note_ending(record)
            elif kind == "anchor":
                versions = {vignette["vignette"]: vignette.get("version", 1) for vignette in study["vignettes"]}
                state.anchors.append({"vignette_version": versions.get(record["vignette"], 1)} | record)
            elif kind == "item":
                state.note_item(record, at)
            elif kind == "judged":
                state.note_judged(record, at)
            elif kind == "session":
                state.sessions.append(record)
                study |= record.get("study", {})
            at += len(line)
        state.n_bytes = at
    for trial_id, places in offsets.items():
        state.open_calls[trial_id] = [*records_at(path, places)]
    return state


def _read(line):
    """Return the kind, the id and the record of a line, or None for each; what is long is parsed only if it must be."""
    if match := AS_WRITTEN.fullmatch(line):
        call, prompt, name = match.groups()
        return (call or prompt).decode(), name.decode("utf-8", "replace"), None
    record = _record(line) or {}
    kind = record.get("kind")
    name = record.get("prompt_hash" if kind == "prompt" else "trial_id")
    is_whole = isinstance(kind, str) and (kind not in ("call", "prompt", "trial") or isinstance(name, str))
    return (kind, name, record) if is_whole else (None, None, None)


def _record(line):
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def records_of(path: Path) -> Iterator[dict]:
    """Yield the lines of a spool file that are records, one after the other; of no file there are none."""
    if not path.exists():
        return
    with open(path, "rb") as lines:
        yield from filter(None, map(_record, lines))


def records_at(path: Path, places: Iterable[int]) -> Iterator[dict]:
    """Yield the records of a spool file whose lines begin at certain places; what is none is left out."""
    with open(path, "rb") as lines:
        for place in places:
            lines.seek(place)
            if record := _record(lines.readline()):
                yield record


def stated_in(session: dict) -> dict[str, dict[str, list[dict]]]:
    """Return what a session states of its paradigms, by the table that it goes to and the paradigm."""
    stated = {"paradigms": {}, "paradigm_contrasts": {}}
    for table, of_table in stated.items():
        for row in session.get(table, []):
            of_table.setdefault(row["paradigm"], []).append(row)
    return stated


@dataclass(frozen=True)
class Words:
    """What goes into a spool, in the words of whoever is refused."""

    doing: str
    nothing: str
    before: str


ANSWERS = Words("collecting", "nothing was asked", "what was answered before")
SCORES = Words("scoring", "nothing was scored", "what was scored before")
EMBEDDINGS = Words("measuring", "nothing was measured", "what was paid for before")


class Spool:
    """One process's hold of a spool file, as a context manager; what it is given to write holds no key."""

    def __init__(self, path: Path, words: Words = ANSWERS):
        self.path = path
        self.words = words
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
            raise UserError(f"{printable(self.path)} cannot be written: {why_not_written(error, self.path)}") from None
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
            f"another process is {self.words.doing} into {printable(self.path)}: wait until it has finished, or stop "
            f"it, and try again; {self.words.nothing}"
        )

    def read(self, place: int) -> dict:
        """Return the record whose line begins at a place."""
        return next(records_at(self.path, [place]))

    def write(self, record: dict) -> int:
        """Append a record, its `kind` and id first, as one line, hand it to the system at once, and say where it is."""
        data = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._lock:
            try:
                if self._failure:
                    raise self._failure
                place, n_written = self._size, 0
                while n_written < len(data):
                    n_written += os.write(self._file.fileno(), data[n_written:])
                self._size += len(data)
                return place
            except OSError as error:
                self._failure = error  # once a line is missing, none may follow
                with contextlib.suppress(OSError):
                    self._file.truncate(self._size)
                raise UserError(
                    f"{printable(self.path)} cannot be written ({why_not_written(error, self.path)}): "
                    f"{self.words.before} is kept; make room and run the same command again"
                ) from None

    def _set_torn_line_aside(self, start: int) -> Path | None:
        """Move what follows the last whole line, left by a kill or a machine that stopped, into a file of its own."""
        if start:
            self._file.seek(start - 1)
            if self._file.read(1) != b"\n":  # whole, and its end was lost to whatever wrote the file again
                self._file.write(b"\n")
                self.state.n_bytes += 1
                return None
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
