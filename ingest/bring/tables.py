"""What tables lie in files, and how a process of its own can read them: CSV, JSON, Parquet, SQLite, Excel, DuckDB."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.archives.table import ARCHIVE, KINDS
from ingest.bring.child import GLOB
from ingest.bring.sheets import sheets, write_sheet
from ingest.texts.csv_text import clean_csv, compression_of, header_of
from ingest.texts.lines import Block, Line
from ingest.warehouse import UserError, in_memory, printable, quoted, some

IS_DUCKDB = b"DUCK"
RECORDS = pa.schema([("filename", pa.string()), ("line_number", pa.int64()), ("record", pa.string())])
SOURCE = "source"
MOST_COLUMNS = 1000  # a reader of CSV or Parquet has buffers for each
BLOCK_BYTES = 1 << 20


def kind_of(path: Path) -> str | None:
    """Return how a file is read, by its ending; a database by what it is."""
    name = path.name.lower()
    kind = next((kind for kind, endings in KINDS.items() if name.endswith(endings)), None)
    if kind == "sqlite":
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return "duckdb" if file.read(12)[8:] == IS_DUCKDB else kind
    return kind


def endings_of(files: Iterable[Path]) -> tuple[str, ...]:
    """Return the endings of the files that most of some are like: these are the table, the others are named."""
    kinds = Counter(filter(None, map(kind_of, files))).most_common()
    if len(kinds) > 1 and kinds[0][1] == kinds[1][1]:
        such_as = " and ".join(f"{n:,} of {' or '.join(KINDS[kind])}" for kind, n in kinds[:2])
        raise UserError(f"the folder holds {such_as}: name one file, or a folder of files of one kind")
    return KINDS[kinds[0][0]] if kinds else ARCHIVE.suffix


class Tables:
    """The tables of the files of an import, and of others that stand beside it, as a mapping is told of them."""

    def __init__(self, scratch: Path, read: Callable[[Path, int, int], Iterable[Block]]):
        self.scratch, self.read = scratch, read
        self.tables, self.rejected, self.csv = [], [], []
        self.n_copies = itertools.count()

    def add(self, name: str, files: dict[Path, str], *, is_beside: bool = False) -> None:
        """Add the tables of some files, which are called as given: one is `name`, of several each `name.table`."""
        found = {}
        of_kinds = {}
        for path, called in files.items():
            if GLOB.search(str(path)) and any("\\" in part for part in path.parts[1:]):
                raise UserError(
                    f"{printable(called)}: DuckDB finds no file with \\ and one of * ? [ in its path: rename it"
                )
            of_kinds.setdefault(kind_of(path), {})[path] = called
        for kind, of_kind in of_kinds.items():
            if kind in ("csv", "parquet", "records", None):
                found.setdefault(name, []).extend(getattr(self, f"_{kind or 'records'}")(of_kind))
            else:
                for path, called in of_kind.items():
                    for table, part in getattr(self, f"_{kind}")(path, called):
                        found.setdefault(f"{name}.{table}", []).append(part)
        if not found:
            raise UserError(f"{printable(some([*files.values()]))}: there is no table with a row in it")
        if len(found) == 1:
            ((_, parts),) = found.items()
            found = {name: parts}
        self.tables += [{"name": table, "parts": parts, "is_beside": is_beside} for table, parts in found.items()]

    def add_records(self, name: str, path: Path) -> None:
        """Add a table of records that were written to a file."""
        part = {"kind": "records", "paths": [str(path)], "has_whole": True}
        self.tables.append({"name": name, "parts": [part], "is_beside": False})

    def leave_out_wholes(self) -> None:
        """Have records of JSON taken apart alone, without a column that holds each as a whole."""
        for part in (part for table in self.tables for part in table["parts"] if part["kind"] == "records"):
            part["has_whole"] = False

    def clean(self) -> None:
        """Set lines of CSV apart that are none, and read the others from a copy; a file beside has to be mended."""
        beside = [part for table in self.tables if table["is_beside"] for part in table["parts"]]
        for part in self.csv:
            folder = self.scratch / f"clean-{next(self.n_copies)}"
            for place, path in enumerate(part["paths"]):
                called = path[len(part["folder"]) + 1 :]
                target = folder / called
                target.parent.mkdir(parents=True, exist_ok=True)
                with _sentences():
                    bad = [Line(called, *line) for line in clean_csv(Path(path), target, printable(called))]
                if bad and any(part is other for other in beside):
                    raise UserError(f"--with {printable(called)}:{bad[0].number}: {printable(bad[0].reason)}: mend it")
                self.rejected += bad
                part["paths"][place] = str(target)
            part["folder"] = str(folder)
            part["delimiter"] = ","

    def _csv(self, files):
        headers = {}
        for path, called in files.items():
            with _sentences():
                header = header_of(path, printable(called))
            _refuse_columns(header[0], called)
            headers.setdefault((*header, compression_of(path)), []).append(path)
        for (columns, delimiter, compression), paths in headers.items():
            more = {"columns": list(columns), "delimiter": delimiter, "compression": compression}
            self.csv.append(_part("csv", paths, _above(paths[0], files), **more))
            yield self.csv[-1]

    def _parquet(self, files):
        for path, called in files.items():
            try:
                names = pq.read_schema(path).names
            except (OSError, pa.ArrowException) as error:
                raise UserError(f"{printable(called)} cannot be read as Parquet: {printable(error)}") from None
            _refuse_columns(names, called)
        yield _part("parquet", list(files), _above(next(iter(files)), files))

    def _records(self, files):
        target = self.scratch / f"records-{next(self.n_copies)}.parquet"
        with pq.ParquetWriter(target, RECORDS) as writer:
            for path, called in files.items():
                try:
                    for block in self.read(path, 0, BLOCK_BYTES):
                        lines = enumerate(block.data.decode("utf-8").split("\n"), block.first_line)
                        rows = [(called, number, line) for number, line in lines if line.strip()]
                        columns = zip(*rows, strict=True) if rows else [[]] * len(RECORDS)
                        writer.write_table(pa.table([list(column) for column in columns], schema=RECORDS))
                except (OSError, UnicodeError) as error:
                    why = getattr(error, "strerror", None) or "it is not UTF-8"
                    raise UserError(f"{printable(called)} cannot be read: {printable(why)}") from None
        yield {"kind": "records", "paths": [str(target)], "has_whole": True}

    def _sheets(self, path, called):
        folder = self.scratch / f"sheets-{next(self.n_copies)}"
        for nth, (table, columns, rows) in enumerate(sheets(path, printable(called))):
            _refuse_columns(columns, f"{called} ({table})")
            target = folder / str(nth) / f"{called}.parquet"
            if write_sheet(columns, rows, target):
                yield table, _part("parquet", [target], folder / str(nth), ending=".parquet")

    _sqlite = _excel = _sheets

    def _duckdb(self, path, called):
        with in_memory() as memory:
            try:
                memory.execute(f"attach {quoted(path)} as there (read_only)")
                tables = memory.execute(
                    "select schema_name, table_name from duckdb_tables() where database_name = 'there' order by all"
                ).fetchall()
            except Exception as error:
                raise UserError(
                    f"{printable(called)} cannot be read as DuckDB: import a copy of it that is whole "
                    f"({_first_line(error)})"
                ) from None
        for schema, table in tables:
            part = {"kind": "duckdb", "paths": [str(path)], "schema": schema, "table": table, "filename": called}
            yield table, part


def _part(kind, paths, folder, ending="", **more):
    return {"kind": kind, "paths": [*map(str, paths)], "folder": str(folder), "ending": ending, **more}


def _above(path, files):
    """Return the folder below which files are called as given."""
    return str(path)[: -len(files[path]) - 1]


def _refuse_columns(names, called):
    if len(names) > MOST_COLUMNS:
        raise UserError(
            f"{printable(called)} has {len(names):,} columns, and no table may have more than {MOST_COLUMNS:,}: leave "
            "out those that say nothing of trials"
        )
    seen = Counter(name.lower() for name in names)
    if twice := [name for name in names if seen[name.lower()] > 1]:
        raise UserError(f"{printable(called)} has two columns that are called {printable(twice[0])}: rename one")


@contextlib.contextmanager
def _sentences():
    try:
        yield
    except (ValueError, OSError) as error:
        raise UserError(printable(error)) from None


def _first_line(error):
    return printable(str(error).splitlines()[0])
