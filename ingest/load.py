"""Land rows in `raw` through dlt: insert-only on their key, so that nothing is landed twice or overwritten."""

import contextlib
import fcntl
import os
import re
import shutil

import pyarrow as pa

from ingest.warehouse import ROOT, UserError, connect, explain, warehouse_path

SYSTEM_FAILURE = re.compile(
    r"(?:(?:Could not|Cannot) (?:set lock|open|create|read|write|sync|truncate)|Out of Memory Error).*"
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

text, number, count, instant = pa.string(), pa.float64(), pa.int64(), pa.timestamp("us", tz="UTC")

TRIALS = pa.schema(
    [
        pa.field("trial_id", text, nullable=False),
        pa.field("study", text, nullable=False),
        pa.field("source", text, nullable=False),
        pa.field("batch_id", text, nullable=False),
        pa.field("archive", text),
        pa.field("source_file", text),
        pa.field("source_line", count),
        pa.field("llm_recorded", text, nullable=False),
        pa.field("llm_returned", text),
        pa.field("vignette", text, nullable=False),
        pa.field("technique", text, nullable=False),
        pa.field("anchor_direction", text),
        pa.field("anchor_value", number),
        pa.field("temperature", number),
        pa.field("replicate", count),
        pa.field("status_recorded", text),
        pa.field("response_recorded", number),
        pa.field("first_response", number),
        pa.field("iterations", count),
        pa.field("response_text", text),
        pa.field("prompt_hash", text),
        pa.field("protocol", text),
        pa.field("asked_at", instant),
        pa.field("line", text),
        pa.field("finished_at", instant),
        pa.field("session_id", text),
        pa.field("phase", text),
        pa.field("order_index", count),
        pa.field("attempt_of", text),
        pa.field("anchor_rule", text),
        pa.field("anchor_baseline", number),
        pa.field("anchor_n_trials", count),
        pa.field("reason_recorded", text),
        pa.field("first_text", text),
    ]
)

CALLS = pa.schema(
    [
        pa.field("call_id", text, nullable=False),
        pa.field("trial_id", text, nullable=False),
        pa.field("study", text, nullable=False),
        pa.field("session_id", text),
        pa.field("turn", count, nullable=False),
        pa.field("step", text),
        pa.field("round", count),
        pa.field("attempt", count, nullable=False),
        pa.field("n_messages", count),
        pa.field("prompt_hash", text),
        pa.field("asked_at", instant),
        pa.field("latency_s", number),
        pa.field("requested_model", text),
        pa.field("returned_model", text),
        pa.field("upstream_provider", text),
        pa.field("system_fingerprint", text),
        pa.field("parameters", text),
        pa.field("tokens_in", count),
        pa.field("tokens_out", count),
        pa.field("cost_usd", number),
        pa.field("cost_source", text),
        pa.field("http_status", count),
        pa.field("request_id", text),
        pa.field("finish_reason", text),
        pa.field("refusal", text),
        pa.field("error", text),
        pa.field("error_detail", text),
        pa.field("response_text", text),
        pa.field("logprobs", text),
        pa.field("software_version", text),
        pa.field("git_revision", text),
    ]
)

PROMPTS = pa.schema(
    [
        pa.field("study", text, nullable=False),
        pa.field("prompt_hash", text, nullable=False),
        pa.field("prompt_kind", text, nullable=False),
        pa.field("text", text, nullable=False),
    ]
)

BATCHES = pa.schema(
    [
        pa.field("batch_id", text, nullable=False),
        pa.field("study", text, nullable=False),
        pa.field("vignette", text, nullable=False),
        pa.field("source", text, nullable=False),
        pa.field("domain", text),
        pa.field("response_unit", text),
        pa.field("valid_min", number),
        pa.field("valid_max", number),
        pa.field("n_trials", count, nullable=False),
        pa.field("definition", text),
        pa.field("loaded_at", instant, nullable=False),
    ]
)

QUARANTINED_LINES = pa.schema(
    [
        pa.field("quarantine_id", text, nullable=False),
        pa.field("study", text, nullable=False),
        pa.field("source_file", text, nullable=False),
        pa.field("line_number", count),
        pa.field("text", text),
        pa.field("reason", text, nullable=False),
        pa.field("quarantined_at", instant, nullable=False),
    ]
)


# table: its schema, its key, and the columns that hold JSON
TABLES = {
    "trials": (TRIALS, "trial_id", ("line", "anchor_rule")),
    "calls": (CALLS, "call_id", ("parameters", "logprobs")),
    "prompts": (PROMPTS, ("study", "prompt_hash"), ()),
    "batches": (BATCHES, "batch_id", ("definition",)),
    "quarantined_lines": (QUARANTINED_LINES, "quarantine_id", ()),
}


def conform(table, schema):
    """Give a table the columns of a schema; those that it lacks are null.

    Parameters
    ----------
    table : pyarrow.Table
    schema : pyarrow.Schema

    Returns
    -------
    pyarrow.Table
    """
    columns = [
        table[field.name] if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema.names).cast(schema)


def prepare_raw(path):
    """Make the tables of `raw` that are not there, and the columns that an older version did not have, as dbt does.

    Parameters
    ----------
    path : Path
        The warehouse.

    Raises
    ------
    UserError
        If it cannot be written.
    """
    from jinja2 import Environment

    text = (ROOT / "macros" / "create_raw_tables.sql").read_text(encoding="utf-8")
    statements = str(Environment().from_string(text).module.create_raw_tables())
    with contextlib.closing(connect(path, read_only=False)) as warehouse:
        warehouse.execute(statements)


def landed_ids(study, table="trials", column="trial_id"):
    """Return which trials of a study, or rows of another table, the warehouse has.

    Parameters
    ----------
    study : str
    table, column : str

    Returns
    -------
    pyarrow.Table
        With that column; empty if there is no warehouse yet.

    Raises
    ------
    UserError
        If the warehouse cannot be read.
    """
    if warehouse_path().exists():
        is_there = f"select 1 from duckdb_tables() where schema_name = 'raw' and table_name = '{table}'"
        of_study = f"select {column} from raw.{table} where study = $study"
        with contextlib.closing(connect()) as warehouse:
            if warehouse.sql(is_there).fetchall():
                return warehouse.sql(of_study, params={"study": study}).to_arrow_table()
    return pa.table({column: pa.array([], text)})


def land(**tables):
    """Load Arrow tables into `raw`.

    Parameters
    ----------
    **tables : iterable of pyarrow.Table
        By the name of the table in `raw`, each of its schema in `TABLES`. They are consumed one after the other, in the
        order given, before the warehouse is opened for writing.

    Raises
    ------
    UserError
        If another import is running, or the warehouse cannot be written; what was there before is as it was.
    """
    path = warehouse_path()
    try:
        with work_folder(path) as folder:
            _load(tables, path, folder)
    except OSError as error:
        raise UserError(explain(error, path)) from None


def work_path(warehouse):
    """Return where the working files of an import lie.

    Parameters
    ----------
    warehouse : Path

    Returns
    -------
    Path
    """
    return warehouse.parent / "dlt" / warehouse.name


@contextlib.contextmanager
def work_folder(warehouse):
    """Lend an empty folder beside the warehouse to one process at a time.

    What a killed run left there is dropped: its source is read again, and only what is missing is landed.

    Parameters
    ----------
    warehouse : Path

    Yields
    ------
    Path

    Raises
    ------
    UserError
        If another process has it.
    """
    folder = work_path(warehouse)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise UserError(
                f"process {lock.read()} is importing into {warehouse}: wait until it has finished, and try again"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _load(tables, path, folder):
    for name, value in DLT_SETTINGS.items():
        os.environ.setdefault(name, value)
    import dlt
    from dlt.destinations.impl.duckdb.configuration import DuckDbCredentials
    from dlt.pipeline.exceptions import PipelineStepFailed

    pipeline = dlt.pipeline(
        "bais",
        destination=dlt.destinations.duckdb(DuckDbCredentials(str(path), global_config=DUCKDB_SETTINGS)),
        dataset_name="raw",
        pipelines_dir=str(folder),
    )
    try:
        pipeline.extract([_resource(name, rows) for name, rows in tables.items()])
        pipeline.normalize()
        pipeline.load()
    except PipelineStepFailed as error:
        raise _cause(error, path) from None


def _resource(name, rows):
    import dlt

    _, key, json_columns = TABLES[name]
    return dlt.resource(
        rows,
        name=name,
        primary_key=key,
        write_disposition={"disposition": "merge", "strategy": "insert-only"},
        columns={column: {"data_type": "json"} for column in json_columns},
    )


def _cause(error, path):
    """Find what a person can act on below dlt's wrapping; a defect of ours comes through as it is."""
    chain = [error]
    while following := chain[-1].__cause__ or chain[-1].__context__:
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
