"""Where `bais build` works: on a copy beside the warehouse, which takes its place once dbt is through.

Whoever reads keeps reading the file that was there, and a kill at any moment leaves it whole. What was landed or
decided meanwhile is brought over first, while DuckDB's own lock keeps every writer away; `connect` sees to it that none
of them is left with the file that was replaced.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bais.exported import unfinished_beside, unfinished_folder
from bais.terminal import complain
from ingest.land import folder as raw_folder
from ingest.land.raw import TABLES
from ingest.warehouse import UserError, connect, explain, free_bytes, in_memory, is_in_use, printable, quoted, same

# dbt built what it could, and kept what was there of the rest; after any other end nothing is put in place
ENDED_BY_ITSELF = (0, 1)
PATIENCE_S = 600
BLOCK = 64 * 1024 * 1024


def build_on_copy(path: Path, build: Callable[[Path], int]) -> int:
    """Build a warehouse on a copy, put the copy in its place unless dbt was stopped, and return how dbt ended.

    The copy has the name of the warehouse: views name the database that they are in.
    """
    _refuse_while_an_orphan_builds(path)
    with unfinished_beside(path.resolve(), "is building") as folder, _worded(path):
        copy = folder / path.name
        state = copy_of(path, copy)
        code = build(copy)
        if code not in ENDED_BY_ITSELF:
            complain(f"dbt did not come to its end: {printable(path)} stays as it was")
        elif copy.exists():
            put_in_place(copy, path, state)
    return code


@contextlib.contextmanager
def _worded(path):
    """Say what DuckDB says of a file, of the copy while it is there, which takes the room that a full disk lacks."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise UserError(explain(error, path)) from None


def _refuse_while_an_orphan_builds(path):
    """Leave a copy alone on which dbt still works, although the command that started it was killed."""
    import duckdb

    left = unfinished_folder(path.resolve()) / path.name
    try:
        if left.exists():
            duckdb.connect(str(left)).close()
    except duckdb.Error as error:
        if is_in_use(error):
            raise UserError(explain(error, left)) from None


def copy_of(path: Path, copy: Path) -> tuple | None:
    """Copy a warehouse as it is between two writers; return what `state_of` says of it, None where there is none."""
    if not path.exists():
        return None
    _write_log_back(path)
    with contextlib.ExitStack() as held:
        # Whoever closes a file loses the locks that the process has on it: these are closed after DuckDB's.
        files = [held.enter_context(open(source, "rb")) for source in (path, _log_of(path)) if source.exists()]
        held.enter_context(_kept_from_writers(path))
        _refuse_a_full_disk(path, sum(os.fstat(file.fileno()).st_size for file in files))
        for file, to in zip(files, (copy, _log_of(copy)), strict=False):
            with open(to, "wb") as target:
                _copy_bytes(file, target)
        shutil.copymode(path, copy)
        return state_of(path)


def put_in_place(copy: Path, path: Path, state: tuple | None) -> None:
    """Bring over what came since the copy was taken, and have the copy be the warehouse, all or nothing."""
    if not path.exists():
        connect(path, read_only=False).close()  # so that nobody else can make it until the copy is there
    with _patiently(path) as memory:
        came_meanwhile = state_of(path) != state
        attach(memory, copy, "built")
        if came_meanwhile:
            bring_over(memory)
        memory.execute("checkpoint built; detach built")
        _rename(copy, path)


def bring_over(memory) -> None:
    """Insert into `built` the raw rows that `landed` has and it lacks.

    Nothing in `raw` is ever changed or deleted: a table has grown, or is as it was.
    """
    there = memory.execute(
        "select table_name, column_name from duckdb_columns() where (database_name, schema_name) = ('landed', 'raw')"
    ).fetchall()
    memory.execute("begin")
    raw_folder.bring_over(memory, TABLES)
    for name, table in TABLES.items():
        columns = ", ".join(column for column in table.columns if (name, column) in there)
        has_grown = f"select (select count(*) from landed.raw.{name}) > (select count(*) from built.raw.{name})"
        if columns and memory.sql(has_grown).fetchall() == [(True,)]:
            memory.execute(
                f"insert into built.raw.{name} by name select {columns} from landed.raw.{name} as landed "
                f"anti join built.raw.{name} as kept on {same('landed', 'kept', table.key)}"
            )
    memory.execute("commit")


def state_of(path: Path) -> tuple:
    """Return what differs once anybody has written to a warehouse."""
    states = (at.stat() for at in (path, _log_of(path)) if at.exists())
    return tuple((state.st_ino, state.st_size, state.st_mtime_ns) for state in states)


def _log_of(path):
    return path.with_name(f"{path.name}.wal")


def _write_log_back(path):
    """Have DuckDB take in the log that a killed writer left, unless somebody has it open."""
    if _log_of(path).exists():
        with contextlib.suppress(UserError):
            connect(path, read_only=False).close()


@contextlib.contextmanager
def _kept_from_writers(path: Path) -> Iterator:
    """Attach a warehouse as `landed`: as long as it is, nobody else writes to it."""
    with contextlib.closing(in_memory()) as memory:
        attach(memory, path, "landed (read_only)")
        yield memory


@contextlib.contextmanager
def _patiently(path: Path) -> Iterator:
    """Keep writers away as soon as they let go, and take in first what a killed one left in its log."""
    with contextlib.ExitStack() as held:
        until = time.monotonic() + PATIENCE_S
        is_said = False
        while True:
            try:
                _write_log_back(path)
                memory = held.enter_context(_kept_from_writers(path))
                if not _log_of(path).exists():
                    break
                held.pop_all().close()
                raise UserError(f"somebody reads {path} since a writer of it was killed: close it")
            except UserError as error:
                if time.monotonic() > until:
                    raise UserError(f"what was built is not put in place: {error}") from None
                if not is_said:
                    complain(f"what was built is put in place as soon as possible: {error}")
                    is_said = True
                time.sleep(0.2)
        yield memory


def attach(memory, path: Path, named: str) -> None:
    """Attach a warehouse to a connection."""
    with _worded(path):
        memory.execute(f"attach {quoted(path)} as {named}")


def _refuse_a_full_disk(path, size):
    free = free_bytes(path.resolve())
    if free < size:
        raise UserError(
            f"a build works on a copy of the warehouse {path}, which takes {size / 1e9:,.1f} GB beside it, and "
            f"{free / 1e9:,.1f} GB are free there: make room, or run `dbt build`, which works on the warehouse itself "
            "while nobody reads it"
        )


def _copy_bytes(source, target):
    """Copy a file; where the file system can, the two share their blocks until one of them is changed."""
    try:
        while os.copy_file_range(source.fileno(), target.fileno(), BLOCK):
            pass
    except (AttributeError, OSError):
        source.seek(0)
        target.seek(0)
        shutil.copyfileobj(source, target, BLOCK)


def _rename(copy, path):
    _to_disk(copy, os.O_RDWR)
    _to_disk(copy.parent, os.O_RDONLY)
    os.replace(copy, path.resolve())
    _to_disk(path.resolve().parent, os.O_RDONLY)


def _to_disk(path, flags):
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
