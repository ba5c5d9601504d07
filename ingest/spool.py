"""The spool: an append-only file of JSON lines per study; every paid answer is there before it is used for anything.

Each line is an object whose first keys are `kind` and an id: `session`, `prompt`, `anchor`, `call` (one per request,
also the failed ones) and `trial` (which closes a trial). A line goes to the operating system in one write before the
next turn is sent, so that no end of this process loses it; it goes to the disk within a second.
"""

import contextlib
import fcntl
import itertools
import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from ingest.warehouse import UserError, printable, warehouse_path

SYNC_EVERY_S = 0.5
COLLECTED = "collected.jsonl"
TRIAL_LINE, CALL_LINE, PROMPT_LINE = (f'{{"kind":"{kind}",'.encode() for kind in ("trial", "call", "prompt"))
ID = slice(len(TRIAL_LINE) + len('"trial_id":"'), len(TRIAL_LINE) + len('"trial_id":"') + 32)
CALL_ID = slice(ID.start - 1, ID.stop - 1)
PROMPT_ID = slice(len(PROMPT_LINE) + len('"prompt_hash":"'), len(PROMPT_LINE) + len('"prompt_hash":"') + 32)


def spool_folder(study):
    """Return where the spool of a study lies: in `spool/` beside the warehouse.

    Parameters
    ----------
    study : str

    Returns
    -------
    Path
    """
    path = warehouse_path()
    return path.parent / "spool" / path.stem / study


def spool_files(study):
    """Return the spool files of a study that exist.

    Parameters
    ----------
    study : str

    Returns
    -------
    list of Path
    """
    return sorted(spool_folder(study).glob("*.jsonl"))


@dataclass
class State:
    """What a spool holds when it is opened.

    Attributes
    ----------
    closed : set of bytes
        The trials that are complete.
    open_calls : dict of str to list of dict
        The calls of each trial that is not.
    anchors : list of dict
        The anchors that were decided, as they were written.
    prompts : set of bytes
        Hashes of the texts that are there.
    sessions : list of dict
    n_calls : int
    junk : list of int
        Numbers of lines that are no record.
    torn : Path or None
        Where a torn last line was put aside.
    """

    closed: set = field(default_factory=set)
    open_calls: dict = field(default_factory=dict)
    anchors: list = field(default_factory=list)
    prompts: set = field(default_factory=set)
    sessions: list = field(default_factory=list)
    n_calls: int = 0
    junk: list = field(default_factory=list)
    torn: Path | None = None


def read_state(path):
    """Scan a spool file.

    Parameters
    ----------
    path : Path
        Nothing is there if it does not exist.

    Returns
    -------
    State
        A torn last line is not part of it.
    """
    state, offsets = State(), {}
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
            elif line.startswith(TRIAL_LINE):
                if _parsed(line) is None:
                    state.junk.append(number)
                else:
                    state.closed.add(line[ID])
                    offsets.pop(line[ID], None)
            elif line.startswith(PROMPT_LINE):
                state.prompts.add(line[PROMPT_ID])
            else:
                record = _parsed(line)
                if record is None:
                    state.junk.append(number)
                elif record["kind"] == "anchor":
                    state.anchors.append(record)
                elif record["kind"] == "session":
                    state.sessions.append(record)
            at += len(line)
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
    """One process's hold of a spool file. Use as a context manager.

    Parameters
    ----------
    path : Path
    secrets : iterable of str
        Never written: each is replaced wherever it turns up.

    Raises
    ------
    UserError
        On entering, if another process collects into it or it cannot be written; on writing, if the disk is full.
    """

    def __init__(self, path, secrets=()):
        self.path = path
        self.secrets = [json.dumps(secret)[1:-1] for secret in secrets if secret]
        self.state = None

    def __enter__(self):
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise UserError(f"{printable(self.path)} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise UserError(
                f"another process is collecting into {printable(self.path)}: wait until it has finished, or stop it, "
                "and try again; nothing was asked"
            ) from None
        try:
            torn = self._set_torn_line_aside()
        except OSError as error:
            os.close(self._file)
            raise UserError(f"{printable(self.path)} cannot be written: {error.strerror}") from None
        self.state = read_state(self.path)
        self.state.torn = torn
        self._size = os.fstat(self._file).st_size
        self._synced, self._failure = self._size, None
        self._lock = threading.Lock()
        self._leaving = threading.Event()
        self._syncer = threading.Thread(target=self._sync_now_and_then, daemon=True)
        self._syncer.start()
        return self

    def __exit__(self, *error):
        self._leaving.set()
        self._syncer.join()
        with contextlib.suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)

    def write(self, record):
        """Append a record as one line, and hand it to the operating system at once.

        Parameters
        ----------
        record : dict
            `kind` and the id first.
        """
        line = json.dumps(record, separators=(",", ":"), allow_nan=False)
        for secret in self.secrets:
            if secret in line:
                line = line.replace(secret, "[key]")
        data = line.encode() + b"\n"
        with self._lock:
            try:
                if self._failure:
                    raise self._failure
                n_written = os.write(self._file, data)
                while n_written < len(data):
                    n_written += os.write(self._file, data[n_written:])
                self._size += len(data)
            except OSError as error:
                self._failure = error  # once a line is missing, none may follow
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
                raise UserError(
                    f"{printable(self.path)} cannot be written ({error.strerror}): what was answered before is kept; "
                    "make room and run the same command again"
                ) from None

    def _set_torn_line_aside(self):
        """Move what follows the last newline, left by a machine that stopped, into a file of its own."""
        size = os.fstat(self._file).st_size
        if size == 0 or os.pread(self._file, 1, size - 1) == b"\n":
            return None
        start = size
        while start > 0:
            chunk = os.pread(self._file, min(65536, start), start - min(65536, start))
            if (at := chunk.rfind(b"\n")) >= 0:
                start = start - len(chunk) + at + 1
                break
            start -= len(chunk)
        endings = itertools.chain([""], (f"-{n}" for n in itertools.count(2)))
        names = (f"{self.path.name}.torn-at-{start}{ending}" for ending in endings)
        aside = next(path for path in map(self.path.with_name, names) if not path.exists())
        aside.write_bytes(os.pread(self._file, size - start, start))
        os.ftruncate(self._file, start)
        return aside

    def _sync_now_and_then(self):
        while not self._leaving.wait(SYNC_EVERY_S):
            size = self._size
            if size != self._synced:
                try:
                    os.fsync(self._file)
                except OSError as error:
                    self._failure = error
                self._synced = size
