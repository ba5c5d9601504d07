"""Land rows in `raw` through dlt: insert-only on their key, so that nothing is landed twice or overwritten.

dlt commits one table after the other, so a kill between them would leave batches without their trials. It therefore
loads into a file of its own, and one transaction takes over from there what the warehouse does not have.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from ingest.land.folder import folder_of, keep_in, let_go, take_in
from ingest.land.lock import alone
from ingest.land.raw import TABLES, next_ordinal, number_rows, prepare_raw, raw_transaction
from ingest.warehouse import UserError, connect, explain, quoted, same, transaction, warehouse_path

SYSTEM_FAILURE = re.compile(
    r"(?:(?:Could not|Cannot) (?:set lock|open|create|read|write|sync|truncate)|Out of Memory Error|"
    r"Corrupt database file|database has been invalidated).*"
)
DUCKDB_SETTINGS = {"preserve_insertion_order": False, "memory_limit": "1GB"}
DLT_SETTINGS = {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "RUNTIME__LOG_LEVEL": "CRITICAL",
    "NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID": "true",
    "LOAD__RAISE_ON_MAX_RETRIES": "1",
    "LOAD__TRUNCATE_STAGING_DATASET": "true",
    "EXTRACT__NEXT_ITEM_MODE": "fifo",
    "EXTRACT__DATA_WRITER__BUFFER_MAX_ITEMS": "50000",
}


def landed_ids(study: str, table: str = "trials", *columns: str) -> pa.Table:
    """Return which trials of a study, or rows of another table, the warehouse has; none if there is no warehouse."""
    columns = columns or ("trial_id",)
    if warehouse_path().exists():
        with contextlib.closing(connect()) as warehouse:
            there = warehouse.execute(
                "select column_name from duckdb_columns() where schema_name = 'raw' and table_name = $table",
                {"table": table},
            ).fetchall()
            if there:
                # a column of ours that came since an older version of bais made the table is null
                younger = TABLES[table].columns.keys() - {column for (column,) in there}
                selected = ", ".join(f"null as {column}" if column in younger else column for column in columns)
                of_study = f"select {selected} from raw.{table} where study = $study"
                return warehouse.sql(of_study, params={"study": study}).to_arrow_table()
    return pa.table({column: pa.array([], pa.string()) for column in columns})


def land(conclude: Callable = lambda warehouse: None, /, **tables: Iterable[pa.Table]) -> None:
    """Load rows into tables of `raw`, all or none; columns that they lack are null.

    What follows from all that has landed then, `conclude` writes into the warehouse, in the same transaction.

    They come after all that is there; an `ordinal` from 1 says which of them come after others.

    They are consumed one table after the other, in the order given, before the warehouse is opened for writing.
    """
    path = warehouse_path()
    try:
        with work_folder(path) as folder:
            if path.exists():
                connect(path, read_only=False).close()
            incoming = folder / "incoming.duckdb"
            _load(tables, path, incoming)
            _take_over(tables, path, incoming, conclude)
    except OSError as error:
        raise UserError(explain(error, path)) from None


@contextlib.contextmanager
def landing_in(to: Path | None) -> Iterator[None]:
    """Have the warehouse keep in a folder, from now on, what grows with trials; not if nothing comes of the import."""
    if to is None:
        yield
        return
    path = warehouse_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(explain(error, path)) from None
    is_made = not path.exists()
    is_new = False
    try:
        if is_made:
            prepare_raw(path)
        with transaction(path) as warehouse:
            is_new = keep_in(warehouse, to)
        prepare_raw(path)
        yield
    except Exception:
        if is_new:
            with transaction(path) as warehouse:
                let_go(warehouse)
        if is_made and _is_empty(path):
            path.unlink()
        raise


def _is_empty(path):
    with contextlib.closing(connect(path)) as warehouse:
        return folder_of(warehouse) is None and not warehouse.execute("select 1 from raw.batches limit 1").fetchall()


def work_path(warehouse: Path) -> Path:
    """Return where the working files of an import lie."""
    return warehouse.parent / "dlt" / warehouse.name


@contextlib.contextmanager
def work_folder(warehouse: Path) -> Iterator[Path]:
    """Lend an empty folder beside the warehouse to one process at a time.

    What a killed run left there is dropped: its source is read again, and only what is missing is landed.
    """
    folder = work_path(warehouse)
    folder.parent.mkdir(parents=True, exist_ok=True)

    def refusal(who):
        return f"{who} is importing into {warehouse}: wait until it has finished, and try again"

    with alone(folder.with_name(f"{folder.name}.lock"), refusal):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _take_over(tables, path, incoming, conclude):
    """Insert what dlt loaded and the warehouse has not, all or nothing."""
    with raw_transaction(path) as warehouse:
        for setting, value in DUCKDB_SETTINGS.items():
            warehouse.execute(f"set {setting} = '{value}'")
        warehouse.execute(f"attach {quoted(incoming)} as incoming (read_only)")
        loaded = warehouse.execute(
            "select table_name from duckdb_tables() where database_name = 'incoming' and schema_name = 'raw'"
        ).fetchall()
        ordinal = next_ordinal(warehouse)
        new = {name: _not_landed(name, ordinal) for name in tables if (name,) in loaded}
        if kept := folder_of(warehouse):
            kept[0].write_load(warehouse, TABLES, new)
            take_in(warehouse, TABLES, number_rows)
        else:
            for name, query in new.items():
                warehouse.execute(f"insert into raw.{name} by name {query}")
        conclude(warehouse)


def _not_landed(name, ordinal):
    """Select what the warehouse has not; rows that say their order among themselves keep it."""
    of_load = {"ordinal": f"{ordinal - 1} + coalesce(ordinal, 1) as ordinal"}
    columns = ", ".join(of_load.get(column, column) for column in TABLES[name].columns)
    return (
        f"select {columns} from incoming.raw.{name} as loaded "
        f"anti join raw.{name} as landed on {same('loaded', 'landed', TABLES[name].key)}"
    )


def _load(tables, path, incoming):
    """Have dlt load tables into a file of its own; `path` is what a message names."""
    for name, value in DLT_SETTINGS.items():
        os.environ.setdefault(name, value)
    import dlt
    from dlt.destinations.impl.duckdb.configuration import DuckDbCredentials
    from dlt.pipeline.exceptions import PipelineStepFailed

    pipeline = dlt.pipeline(
        "bais",
        destination=dlt.destinations.duckdb(DuckDbCredentials(str(incoming), global_config=DUCKDB_SETTINGS)),
        dataset_name="raw",
        pipelines_dir=str(incoming.parent),
    )
    try:
        pipeline.extract([_resource(name, rows) for name, rows in tables.items()])
        pipeline.normalize()
        pipeline.load()
    except PipelineStepFailed as error:
        raise _cause(error, path) from None


def _resource(name, rows):
    import dlt

    table = TABLES[name]
    return dlt.resource(
        (table.conform(some) for some in rows),
        name=name,
        primary_key=[column for column in table.key if "constraints" in table.columns[column]],  # others may be null
        write_disposition="append",
        columns={column: {"data_type": "json"} for column in table.json_columns},
    )


def _cause(error, path):
    """Find what a person can act on below dlt's wrapping; a defect of ours comes through as it is."""
    chain = [error]
    while not isinstance(chain[-1], UserError) and (following := chain[-1].__cause__ or chain[-1].__context__):
        chain.append(following)
    for link in reversed(chain):
        if isinstance(link, UserError):
            return link
        if isinstance(link, OSError):
            return UserError(explain(link, path))
        # of what failed in a thread of its own, dlt hands on the text alone
        if duckdb_said := SYSTEM_FAILURE.search(str(link)):
            return UserError(explain(duckdb_said[0], path))
    return error
