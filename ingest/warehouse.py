"""Where bais, a folder of one's own and its warehouse are, how to open that, and what to say when it fails."""

import contextlib
import functools
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

PACKAGES = Path(__file__).resolve().parent.parent
IS_CHECKOUT = (PACKAGES / "dbt_project.yml").is_file()
# What comes with bais beside its Python: a wheel has it in a folder of the package (pyproject.toml).
ROOT = PACKAGES if IS_CHECKOUT else PACKAGES / "bais" / "shipped"
SETTINGS = "bais.toml"  # makes a folder one of a user's own
WORK = ".bais"  # in such a folder, what bais makes anew whenever it needs it
WAREHOUSE = "data/bais.duckdb"
# In a Python that runs no file (`python -c`) DuckDB prints on stdout how far a slow query is, between what we print.
# With `projection_pullup` its version 2.0.0 forgets a limit over a left join of which the other side is found empty.
SESSION = (
    "set TimeZone = 'UTC'; set autoinstall_known_extensions = false; set autoload_known_extensions = false; "
    "set enable_progress_bar = false; set disabled_optimizers = 'projection_pullup'"
)
ALONE = {"enable_external_access": False, "python_enable_replacements": False}
# `ALONE` still lets a query name the warehouse's own file, its log and its folder for spilling as files.
NO_FILES = "set disabled_filesystems = 'LocalFileSystem'"
LOCKED = "set lock_configuration = true"
LOCK_HOLDER = re.compile(r"lock is held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")


PUBLIC_SCHEMAS = ("marts", "inference", "papers", "people", "content", "claims")
OWN_SCHEMA = "own"  # of models in a folder of one's own
READ_SCHEMAS = (*PUBLIC_SCHEMAS, OWN_SCHEMA)
# As the name of a file it would be that of a database, and `raw.trials` could be a table of either.
NAMES_TAKEN = {
    "main", "temp", "system", "landing", "raw", "seeds", "staging", "intermediate", *READ_SCHEMAS,
}  # fmt: skip
MANIFEST = "manifest.json"  # of a folder in which a warehouse keeps trials (ingest/land/folder.py)
GONE = re.compile(r'No files found that match the pattern "(?P<file>.*)"')
PUT_BACK = "put the folder back; if you moved it, import anything with --to and its new name"
FULL = re.compile("No space left on device|Disk quota exceeded")
PATIENCE_S = 600  # for a load, an import or a build that has the warehouse
MOST_NAMED = 20
BUSY = ("is in use by", "is importing into")
DAMAGE = re.compile(r"Corrupt database file|Could not read enough bytes|database has been invalidated")


class UserError(Exception):
    """One clear sentence for the person at the terminal, and the exit code that goes with it."""

    def __init__(self, message, exit_code=2):
        super().__init__(message)
        self.exit_code = exit_code


def own_folder() -> Path | None:
    """Return the folder of one's own that this is in: the nearest one, going up, with a `bais.toml`."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        raise UserError("the folder that bais was started in is gone: change into one that is there") from None
    while not os.path.isfile(os.path.join(here, SETTINGS)):  # without a Path for each: this is asked often
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return Path(here)


def home() -> Path:
    """Return the folder that answers and tables are kept in: one's own, else the checkout."""
    if folder := own_folder():
        return folder
    if why := why_nowhere():
        raise UserError(why)
    return ROOT


def why_nowhere() -> str | None:
    """Say what to do where commands run neither in a folder of one's own nor from a checkout; None elsewhere."""
    if IS_CHECKOUT or own_folder():
        return None
    return f"there is no {SETTINGS} here or above: `bais init NAME` makes a folder with one; change into it"


def _warehouse_named(folder):
    """Return the warehouse that the `bais.toml` of a folder names, if it has one and names any."""
    import tomllib

    path = folder / SETTINGS
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise UserError(f"{printable(path)} is not TOML: {printable(error)}") from None
    if unknown := sorted(settings.keys() - {"warehouse"}):
        raise UserError(f"{printable(path)}: {printable(unknown[0])}: there is no such key, only warehouse")
    if not isinstance(named := settings.get("warehouse", WAREHOUSE), str) or not named:
        raise UserError(f'{printable(path)}: warehouse should be a path in quotes, such as "{WAREHOUSE}"')
    return folder / Path(named).expanduser()


def warehouse_path():
    """Return the DuckDB file: `BAIS_WAREHOUSE`, else what `bais.toml` names, else `data/bais.duckdb` of `home`.

    A relative `BAIS_WAREHOUSE` is resolved as dbt resolves it, from the working directory.
    """
    path = Path(os.environ.get("BAIS_WAREHOUSE") or _warehouse_named(home())).absolute()
    if path.name.partition(".")[0].lower() in NAMES_TAKEN:
        raise UserError(
            f"a warehouse cannot be called {printable(path.name)}, as DuckDB or a schema in it has that name: call the "
            f"file otherwise, as in BAIS_WAREHOUSE={printable(path.with_name('bais.duckdb'))}"
        )
    return path


def parquet_folder(path: Path) -> Path:
    """Return the folder beside a warehouse for tables of Spark (`bais build --engine spark`), if there are any."""
    return path.with_name(path.name + ".spark")


def printable(value: object) -> str:
    """Return text or a path with everything that could act on a terminal, or is not Unicode, escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))


def perhaps(given: str, names: Iterable[str], likeness: float = 0.5) -> str:
    """Say which of some names is meant by one that is none of them, if one is like it."""
    written = {name.lower(): name for name in names}
    meant = get_close_matches(given.lower(), written, n=1, cutoff=likeness)
    return f" (perhaps {printable(written[meant[0]])})" if meant else ""


def some(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Join the first of some names, and say how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def listed(entries: Iterable[str]) -> list[str]:
    """Return the first of some entries as lines of their own, and how many more there are."""
    lines = [f"    {entry}" for entry in entries]
    more = [f"    and {len(lines) - MOST_NAMED:,} more"] if len(lines) > MOST_NAMED else []
    return lines[:MOST_NAMED] + more


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def quoted(text: str | Path) -> str:
    """Return text or a path as a literal of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def same(one: str, other: str, columns: Iterable[str]) -> str:
    """Write the condition that rows of two relations agree in some columns; two nulls agree."""
    return " and ".join(f"{one}.{column} is not distinct from {other}.{column}" for column in columns)


def number_after(warehouse, tables: Iterable[str]) -> int:
    """Return the number that follows all by which rows of some tables of `raw` are ordered."""
    numbered = " union all ".join(f"select ordinal from raw.{name}" for name in tables)
    ((ordinal,),) = warehouse.execute(f"select 1 + coalesce(max(ordinal), 0) from ({numbered})").fetchall()
    return ordinal


def kept_path(warehouse, database: str = "") -> str | None:
    """Return the folder in which a warehouse keeps trials (ingest/land/folder.py), if it does."""
    of_database = quoted(database) if database else "current_database()"
    # to look among schemas first takes a tenth of the time in a warehouse that has just been opened
    is_there = (
        warehouse.execute(
            f"select 1 from duckdb_schemas() where (database_name, schema_name) = ({of_database}, 'landing')"
        ).fetchall()
        and warehouse.execute(
            "select 1 from duckdb_tables() "
            f"where (database_name, schema_name, table_name) = ({of_database}, 'landing', 'folder')"
        ).fetchall()
    )
    if not is_there:
        return None
    ((path,),) = warehouse.execute(f"select path from {f'{database}.' if database else ''}landing.folder").fetchall()
    return path


def connect(path: Path | None = None, *, read_only: bool = True, writes_files: bool = False, is_sealed: bool = False):
    """Open the warehouse in UTC, or say why that fails; who reads reaches no other file but its own Parquet."""
    import duckdb

    path = path or warehouse_path()
    is_alone = read_only and not writes_files
    if read_only and not path.exists():
        raise UserError(
            f"there is no warehouse at {path} yet: collect a study with `bais collect STUDY` "
            "(`simulated` costs nothing), then run `bais build`"
        )
    config = {"temp_directory": ""} if is_sealed else {}
    while True:
        file = _file_at(path)
        try:
            connection = duckdb.connect(str(path), read_only=read_only, config=config)
        except duckdb.Error as error:
            raise UserError(explain(error, path)) from None
        if read_only or file == _file_at(path):
            break
        connection.close()  # a build put another file in its place before this process had the lock on the first
    connection.execute(SESSION)
    if is_alone:
        folders = _parquet_of(connection, path)
        if connection.execute("select current_setting('enable_external_access')").fetchone()[0]:
            if folders:
                allowed = ", ".join(quoted(f"{folder}/") for folder in folders)
                connection.execute(f"set allowed_directories = [{allowed}]")
            for name, value in ALONE.items():
                connection.execute(f"set {name} = {value}")
        if is_sealed:
            connection.execute(LOCKED if folders else f"{NO_FILES}; {LOCKED}")
    return connection


def _parquet_of(warehouse, path):
    """Return the folders in which tables of a warehouse lie as files: those of Spark, and raw ones."""
    of_spark = parquet_folder(path)
    folders = [str(of_spark.resolve())] if any(of_spark.glob("build_*")) else []
    if (kept := kept_path(warehouse)) and _is_its_own(warehouse, Path(kept)):
        folders.append(kept)
    return folders


def _is_its_own(warehouse, folder):
    """Whether a folder has the id that the warehouse knows, or is not there: whoever made the file may name any."""
    import json

    (folder_id,) = warehouse.execute("select folder_id from landing.folder").fetchall()[0]
    try:
        return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["folder_id"] == folder_id
    except (OSError, ValueError, KeyError, TypeError):
        return not folder.exists()


def _file_at(path):
    return path.stat().st_ino if path.exists() else None


@contextlib.contextmanager
def transaction(path: Path):
    """Open the warehouse, and write all of what follows, or none; a full disk or a lock is said in one sentence."""
    import duckdb

    with contextlib.closing(connect(path, read_only=False)) as warehouse:
        try:
            warehouse.execute("begin")
            yield warehouse
            warehouse.execute("commit")
        except duckdb.Error as error:
            raise UserError(explain(error, path)) from None


def in_memory(**settings):
    """Open an empty DuckDB in memory, in UTC and without downloads of extensions."""
    import duckdb

    memory = duckdb.connect(config=settings)
    memory.execute(SESSION)
    return memory


@contextlib.contextmanager
def scratch():
    """Lend a connection to a DuckDB in memory that this process starts once: that takes longer than small queries."""
    with contextlib.closing(_scratch().cursor()) as connection:
        connection.execute(SESSION)
        yield connection


@functools.cache
def _scratch():
    return in_memory(memory_limit="256MB", threads=1, preserve_insertion_order=False)


def explain(error: object, path: Path) -> str:
    """Say in one sentence what keeps the warehouse from being opened, and what to do."""
    text = str(error)
    if is_in_use(error):
        holder = LOCK_HOLDER.search(text)
        who = f"process {holder['pid']} ({_command_of(holder['pid']) or holder['program']})" if holder else "a process"
        return f"the warehouse {path} is in use by {who}: wait until it has finished, or stop it, and try again"
    if "not a valid DuckDB database" in text:
        return f"{path} is not a DuckDB database: move it away, or point BAIS_WAREHOUSE at another file"
    if gone := GONE.search(text):
        return f"{printable(gone['file'])}, in which the warehouse {path} keeps trials, is not there: {PUT_BACK}"
    if FULL.search(text):
        return f"the disk that holds {path} is full ({why_not_written(error, path)}): make room on it, and try again"
    if DAMAGE.search(text):
        return (
            f"the warehouse {path} is damaged: put a copy of it in its place, or move it away, load everything again "
            f"(what was collected is in the spool), and run `bais build` ({text.splitlines()[0]})"
        )
    if "file system operations are disabled" in text:
        wanted = text.splitlines()[0]
        return f"a view in the warehouse {path} wants another file, and bais reads the warehouse alone: {wanted}"
    return f"the warehouse {path} cannot be read or written: {text.splitlines()[0]}"


def why_not_written(error: object, path: Path) -> str:
    """Say why a file could not be written; of a full disk also where it is and how many bytes of it are free."""
    if not (full := FULL.search(str(error))):
        return getattr(error, "strerror", None) or printable(str(error).splitlines()[0])
    return f"{full[0]}: {free_bytes(path):,} bytes are free on the disk at {printable(disk_of(path))}"


def free_bytes(path: Path) -> int:
    """Return how much is free on the disk that holds a file, or would."""
    return shutil.disk_usage(disk_of(path)).free


def disk_of(path: Path) -> Path:
    """Return the folder at which the disk is mounted that holds a file, or would."""
    path = path.resolve()
    return next(folder for folder in (path, *path.parents) if folder.is_mount())


def patiently(act: Callable, patience_s: float | None = None, *, is_quiet: bool = False):
    """Return what an act gives that needs the warehouse, once whoever has it is done; say once what is waited for."""
    until, is_said = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s), is_quiet
    while True:
        try:
            return act()
        except UserError as error:
            if not any(busy in str(error) for busy in BUSY) or time.monotonic() > until:
                raise
            if not is_said:
                print(f"bais waits: {error}", file=sys.stderr, flush=True)
                is_said = True
            time.sleep(0.2)


def is_in_use(error: object) -> bool:
    """Whether DuckDB says that another process has the warehouse open."""
    return "Could not set lock" in str(error)


def is_of_the_file(error: Exception) -> bool:
    """Whether DuckDB says that a file is damaged or gone, or its disk full, which it may at any query."""
    message = str(error)
    return type(error).__module__.endswith("duckdb") and any(kind.search(message) for kind in (DAMAGE, GONE, FULL))


def _command_of(pid):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    program, *arguments = [word.decode("utf-8", "backslashreplace") for word in words if word] or [""]
    return printable(" ".join([Path(program).name, *arguments]))[:100]
